//! A judge: a Go program of ours that answers questions with the reference implementation, over a pipe.
//!
//! The package `go-program` builds it; this file starts it and speaks JSON lines with it. It does not know what the
//! questions mean.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value as Json;

/// The reason why a judge gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be built.
    #[error(transparent)]
    Build(#[from] go_program::Error),
    /// The judge ended in the middle of a conversation.
    #[error("the judge ended before it answered question {question}; its standard error says why")]
    Ended {
        /// The position of the question without an answer, from 0.
        question: usize,
    },
    /// A file or pipe could not be used.
    #[error("cannot {what}")]
    Io {
        /// The attempted operation.
        what: String,
        /// The reason why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The judge said something that is not JSON.
    #[error("the judge did not answer in JSON")]
    Json(#[from] serde_json::Error),
}

impl Error {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// A running judge. Dropping it closes its input, upon which it ends; the drop waits for that.
#[derive(Debug)]
pub struct Judge {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    /// The judge of Rego: OPA at the version that `judge/opa/go.mod` pins.
    ///
    /// The first call on a machine fetches and compiles OPA, which takes about a minute.
    ///
    /// # Errors
    /// Go is missing, the build failed, or the program could not be started.
    pub fn opa() -> Result<Self, Error> {
        Self::start(built("opa")?)
    }

    /// The judge of reviews: Gatekeeper's constraint framework at the version that `judge/gatekeeper/go.mod`
    /// pins, with the OPA that it requires.
    ///
    /// # Errors
    /// As [`Judge::opa`].
    pub fn gatekeeper() -> Result<Self, Error> {
        Self::start(built("gatekeeper")?)
    }

    /// The judge of functions of Go's standard library and `sigs.k8s.io/yaml`.
    ///
    /// # Errors
    /// As [`Judge::opa`].
    pub fn go() -> Result<Self, Error> {
        Self::start(built("go")?)
    }

    /// Objects of built-in and other kinds, the same on each run, each with the verdict of kstatus: `["Current", {…}]`.
    ///
    /// # Errors
    /// As [`Judge::opa`], or the program failed.
    pub fn kstatus(count: usize) -> Result<Vec<Json>, Error> {
        let program = built("health")?;
        let output = Command::new(&program).args(["generate", &count.to_string()]).output();
        let output = output.map_err(Error::io(format!("run {}", program.display())))?;
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.map(serde_json::from_slice).collect::<Result<_, _>>()?)
    }

    /// The judge of health: kstatus, the `healthCheckExprs` of Flux and the Lua interpreter of Argo CD.
    ///
    /// # Errors
    /// As [`Judge::opa`].
    pub fn health() -> Result<Self, Error> {
        Self::start(built("health")?)
    }

    /// The folder of the pinned OPA module, where its conformance cases are.
    ///
    /// # Errors
    /// Go is missing or cannot fetch the module.
    pub fn opa_module() -> Result<PathBuf, Error> {
        Ok(go_program::module_folder(&source("opa"), "github.com/open-policy-agent/opa")?)
    }

    fn start(program: PathBuf) -> Result<Self, Error> {
        let started = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(Error::io(format!("start {}", program.display())))?;
        let questions = child.stdin.take();
        let no_pipe = || Error::io("read the judge's output")(std::io::ErrorKind::BrokenPipe.into());
        let answers = BufReader::new(child.stdout.take().ok_or_else(no_pipe)?);
        Ok(Self { child, questions, answers })
    }

    /// Asks one question.
    ///
    /// # Errors
    /// The judge ended, or did not answer in JSON.
    pub fn ask(&mut self, question: &Json) -> Result<Json, Error> {
        let mut answer = Json::Null;
        self.ask_all(std::iter::once(question.to_string()), |_, said| answer = said)?;
        Ok(answer)
    }

    /// Asks many questions, each a line of JSON, without waiting for an answer before the next question.
    /// `hear` gets every answer with the position of its question, in order.
    ///
    /// # Errors
    /// The judge ended, or did not answer in JSON.
    pub fn ask_all(
        &mut self,
        questions: impl ExactSizeIterator<Item = String> + Send,
        mut hear: impl FnMut(usize, Json),
    ) -> Result<(), Error> {
        let count = questions.len();
        let (pipe, answers) = (&mut self.questions, &mut self.answers);
        std::thread::scope(|scope| {
            scope.spawn(move || send(pipe, questions));
            for question in 0..count {
                let mut line = String::new();
                let read = answers.read_line(&mut line).map_err(Error::io("read from the judge"))?;
                if read == 0 {
                    return Err(Error::Ended { question });
                }
                hear(question, serde_json::from_str(&line)?);
            }
            Ok(())
        })
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("judge").join(name)
}

fn built(name: &str) -> Result<PathBuf, go_program::Error> {
    go_program::build(&source(name), ".", "conformance", name)
}

/// Writes all questions. A judge that has ended is noticed where its answers are read.
fn send(pipe: &mut Option<ChildStdin>, questions: impl Iterator<Item = String>) {
    let Some(pipe) = pipe else { return };
    let mut writer = std::io::BufWriter::new(pipe);
    for question in questions {
        if writeln!(writer, "{question}").is_err() {
            return;
        }
    }
    let _noticed_by_the_reader = writer.flush();
}

impl Drop for Judge {
    fn drop(&mut self) {
        drop(self.questions.take());
        let _status = self.child.wait();
    }
}
