//! `webtroller rego eval`: one query over files and an input.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rego_compat::{EvalError, Externals, Query, QueryScope, Solution, Value, to_json};

use crate::command_error::{self, CommandError, CommandErrors, MAX_ERRORS};
use crate::source::{Selection, Sources, first_document, reason};
use crate::unsupported::{Unsupported, UnsupportedByEval, message};
use crate::{Language, Streams, budget, duration, json, restrictions, table};

/// The command `eval`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  # The value of a rule for an input
  webtroller rego eval --data policy.rego --input pod.json data.policy.violation

  # An expression
  webtroller rego eval '1+1'")]
pub struct EvalArgs {
    /// The query, such as `data.policies.deny` or `x := input.a; x > 1`.
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin")]
    pub query: Option<String>,
    /// Modules, JSON and YAML, or folders with everything below them; `a.b:FILE` roots a file at `data.a.b`.
    #[arg(long, short, value_name = "PATH")]
    pub data: Vec<String>,
    /// A file with the input, JSON or YAML.
    #[arg(long, short, value_name = "FILE")]
    pub input: Option<String>,
    /// Read the input from standard input.
    #[arg(long, short = 'I')]
    pub stdin_input: bool,
    /// Read the query from standard input.
    #[arg(long)]
    pub stdin: bool,
    /// Output format of the result.
    #[arg(long, short, value_enum, default_value_t)]
    pub format: Format,
    /// Exit with 1 when the query is undefined.
    #[arg(long)]
    pub fail: bool,
    /// Exit with 1 when the query is defined.
    #[arg(long)]
    pub fail_defined: bool,
    /// The package whose rules the query names without their path.
    #[arg(long, value_name = "PACKAGE")]
    pub package: Option<String>,
    /// Imports of the query, such as `data.lib as l`.
    #[arg(long, value_name = "IMPORT")]
    pub import: Vec<String>,
    /// Leave out files and folders of these names.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// End the evaluation after this time.
    #[arg(long, value_parser = duration::parse, value_name = "DURATION")]
    pub timeout: Option<Duration>,
    /// The version of Rego.
    #[command(flatten)]
    pub language: Language,
    #[command(flatten)]
    unsupported: Unsupported,
    #[command(flatten)]
    unsupported_here: UnsupportedByEval,
}

/// The format of a printed result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Everything, as JSON.
    #[default]
    Json,
    /// The values of each solution as a JSON list.
    Values,
    /// The variables of each solution as a JSON object.
    Bindings,
    /// A value, or a table of values and variables.
    Pretty,
    /// The values of each solution on a line, strings as they are.
    Raw,
    /// JSON without the values.
    Discard,
}

/// The reason why the query was not evaluated.
enum EvalCommandError {
    /// Printed in the format that was asked for.
    Listed(CommandErrors),
    /// Printed as it is, as OPA does when it cannot begin.
    Message(String),
}

impl EvalCommandError {
    const fn listed(errors: Vec<CommandError>) -> Self {
        Self::Listed(CommandErrors(errors))
    }
}

/// Runs the command; returns 0 for an answer, 1 under `--fail` and `--fail-defined`, 2 for errors.
pub(crate) fn run(args: &EvalArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    if let Some(flag) = args.unsupported.given().or_else(|| args.unsupported_here.given()) {
        streams.err.write_all(message("eval", flag).as_bytes())?;
        return Ok(2);
    }
    let code = match answer(args, streams) {
        Ok((query, solutions)) => {
            streams.out.write_all(show(args.format, &query, &solutions).as_bytes())?;
            let unwanted = if solutions.is_empty() { args.fail } else { args.fail_defined };
            u8::from(unwanted)
        }
        Err(EvalCommandError::Message(text)) => {
            writeln!(streams.err, "{text}")?;
            2
        }
        Err(EvalCommandError::Listed(CommandErrors(errors))) => {
            match args.format {
                Format::Json => streams.out.write_all(command_error::to_json(&errors).as_bytes())?,
                Format::Discard => {
                    streams.out.write_all(command_error::to_sorted_json(&errors).as_bytes())?
                }
                _ => streams.err.write_all(command_error::for_people(&errors, "").as_bytes())?,
            }
            2
        }
    };
    Ok(code)
}

fn answer(args: &EvalArgs, streams: &mut Streams<'_>) -> Result<(Query, Vec<Solution>), EvalCommandError> {
    let (text, input) = read(args, streams.input)?;
    let selection = Selection::ignoring(&args.ignore);
    let version = args.language.version();
    let sources = Sources::load(&args.data, version, &selection).map_err(EvalCommandError::Listed)?;
    let conflicts = sources.conflicts();
    if !conflicts.is_empty() {
        return Err(EvalCommandError::listed(conflicts));
    }
    if text.is_empty() {
        return Err(EvalCommandError::listed(vec![CommandError::plain("cannot evaluate empty query")]));
    }
    let scope = QueryScope { package: args.package.clone(), imports: args.import.clone(), version };
    let query =
        Query::compile(&sources.modules(), &text, &scope, &restrictions()).map_err(|diagnostics| {
            EvalCommandError::listed(command_error::of_diagnostics(&diagnostics, MAX_ERRORS))
        })?;
    let data = Value::from_json_str(&sources.data())
        .map_err(|error| EvalCommandError::listed(vec![CommandError::plain(error.to_string())]))?;
    let budget = budget(args.timeout.filter(|time| !time.is_zero()).unwrap_or(Duration::MAX));
    let printer = Printer { err: std::cell::RefCell::new(&mut *streams.err) };
    let solutions = query
        .solve(&input, &data, &budget, &printer)
        .map_err(|error| EvalCommandError::listed(vec![CommandError::evaluation(&error)]))?;
    Ok((query, solutions))
}

/// Returns the query and the input. Both cannot come from standard input: the input gets what the query leaves, nothing.
fn read(args: &EvalArgs, input: &mut dyn Read) -> Result<(String, Value), EvalCommandError> {
    let query = match &args.query {
        Some(query) => query.clone(),
        None => standard(input)?,
    };
    let text = if args.stdin_input {
        standard(input)?
    } else if let Some(path) = &args.input {
        let path = Path::new(path.strip_prefix("file://").unwrap_or(path));
        let bytes =
            std::fs::read(path).map_err(|error| EvalCommandError::Message(reason("open", path, &error)))?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        return Ok((query, Value::Undefined));
    };
    let invalid = |error: String| EvalCommandError::Message(format!("unable to parse input: {error}"));
    let document = if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
        text
    } else {
        first_document(&text).map_err(|error| invalid(format!("yaml: {error}")))?
    };
    let value = Value::from_json_str(&document).map_err(|error| invalid(error.to_string()))?;
    Ok((query, value))
}

fn standard(input: &mut dyn Read) -> Result<String, EvalCommandError> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| EvalCommandError::Message(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Prints to standard error, as `opa eval` does.
struct Printer<'a> {
    err: std::cell::RefCell<&'a mut (dyn io::Write + Send)>,
}

impl Externals for Printer<'_> {
    fn call(&self, function: &str, _: &Value) -> Result<Option<Value>, EvalError> {
        Err(EvalError::External { function: function.to_owned(), message: "no host answers it".to_owned() })
    }

    fn print(&self, line: &str) {
        // Ignore write errors: stderr is closed.
        let _ = writeln!(self.err.borrow_mut(), "{line}");
    }
}

fn show(format: Format, query: &Query, solutions: &[Solution]) -> String {
    let each = |show: fn(&Solution) -> String| solutions.iter().map(show).collect::<String>();
    match format {
        Format::Json if solutions.is_empty() => "{}\n".to_owned(),
        Format::Json => {
            let result = json::array(solutions.iter().map(|solution| solution_json(query, solution)));
            json::indented(&json::object([("result", result)]))
        }
        Format::Discard if solutions.is_empty() => "{}\n".to_owned(),
        Format::Discard => json::indented(&json::object([("result", json::string("discarded"))])),
        Format::Values => each(|solution| json::indented(&json::array(solution.values.iter().map(to_json)))),
        Format::Bindings => each(|solution| json::indented(&bindings(solution))),
        Format::Raw => each(|solution| {
            let values: Vec<String> = solution.values.iter().map(raw).collect();
            format!("{}\n", values.join(" "))
        }),
        Format::Pretty => pretty(query, solutions),
    }
}

fn solution_json(query: &Query, solution: &Solution) -> String {
    let expressions = query.expressions().iter().zip(&solution.values).map(|(expression, value)| {
        let location = [("row", expression.line.to_string()), ("col", expression.column.to_string())];
        json::object([
            ("value", to_json(value)),
            ("text", json::string(&expression.text)),
            ("location", json::object(location)),
        ])
    });
    let mut fields = vec![("expressions", json::array(expressions))];
    if !solution.bindings.is_empty() {
        fields.push(("bindings", bindings(solution)));
    }
    json::object(fields)
}

fn bindings(solution: &Solution) -> String {
    json::object(solution.bindings.iter().map(|(name, value)| (name.as_str(), to_json(value))))
}

fn raw(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => to_json(other),
    }
}

/// Returns one value alone as it is, everything else as a table; truths are left out where there are variables.
fn pretty(query: &Query, solutions: &[Solution]) -> String {
    let is_truth = |value: &Value| matches!(value, Value::Bool(_));
    let Some(first) = solutions.first() else {
        return "undefined\n".to_owned();
    };
    let alone = first.values.len() == 1 || first.values.iter().all(is_truth);
    if solutions.len() == 1
        && first.bindings.is_empty()
        && alone
        && let Some(value) = first.values.first()
    {
        return json::indented(&to_json(value));
    }
    let shown: Vec<usize> = first
        .values
        .iter()
        .enumerate()
        .filter(|(_, value)| !is_truth(value) || first.bindings.is_empty())
        .map(|(index, _)| index)
        .collect();
    let texts = shown.iter().filter_map(|index| query.expressions().get(*index)).map(|e| e.text.clone());
    let header: Vec<String> = texts.chain(first.bindings.keys().cloned()).collect();
    let rows: Vec<Vec<String>> = solutions
        .iter()
        .map(|solution| {
            let values = shown.iter().filter_map(|index| solution.values.get(*index));
            values.chain(solution.bindings.values()).map(to_json).collect()
        })
        .collect();
    table::draw(&header, &rows)
}
