//! `webtroller explain-progress`: why an object of any kind is stuck.
//!
//! `kinds` are those that the cluster serves; `reader` reads; `graph` follows owners, references and the contents of a
//! Namespace; `diagnostic` is what each object says by the conventions of the Kubernetes API, with `managed` and `finalizer`;
//! `cause` chooses where to look first; `output` prints. Nothing is written, and each request has the client's deadline.

mod cause;
mod diagnostic;
mod finalizer;
mod graph;
mod kinds;
mod managed;
mod output;
mod reader;
mod reference;

use std::io::{self, Write};

use clap::ValueEnum;
use schema_merge::Errors;
use serde_json::Value;

use crate::api_error::reason;

use graph::{Node, Walk};
use reader::Reader;

/// Nothing holds the object up.
const PROGRESSES: u8 = 0;
/// Something holds it up.
const HELD_UP: u8 = 1;
/// The question cannot be answered.
const UNKNOWN: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  # Why has this Deployment no pods?
  webtroller explain-progress deployment/web -n shop

  # Why does this Namespace not go away?
  webtroller explain-progress namespace/old

  # An object of a kind that other groups have too, for a program
  webtroller explain-progress machines.cluster.example.com/db -o json";

/// Explain why an object of any kind is stuck: what it owns, what owns it, what it refers to, finalizers,
/// generations, conditions and Events. Changes nothing.
///
/// Exits with 0 when nothing holds the object up, with 1 when something does, and with 2 when it does not exist or what
/// was needed could not be read.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ProgressArgs {
    /// The object: a kind as `kubectl` takes it, and a name.
    #[arg(value_name = "KIND/NAME")]
    pub object: String,
    /// The namespace of the object; the default is that of the kubeconfig.
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// Output format of the tree.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: ProgressFormat,
}

/// The format of the printed tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON document.
    Json,
}

/// The printed report.
struct Report {
    tree: Node,
    /// The errors of what could not be read.
    errors: Vec<String>,
}

impl Report {
    fn is_complete(&self) -> bool {
        self.errors.is_empty() && !left_out(&self.tree)
    }

    fn exit_code(&self) -> u8 {
        match cause::marked(&self.tree) {
            Some(_) => HELD_UP,
            None if self.is_complete() => PROGRESSES,
            None => UNKNOWN,
        }
    }
}

fn left_out(node: &Node) -> bool {
    node.unread > 0 || node.children.iter().any(left_out)
}

/// Explains an object of the cluster. The tree goes to `out`, what cannot be read to `err`.
///
/// # Errors
/// Errors of `connect`, which makes the client.
pub async fn explain_progress<E>(
    args: &ProgressArgs,
    connect: impl AsyncFnOnce() -> Result<kube::Client, E>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, E> {
    let client = connect().await?;
    let mut complain = |message: &str| {
        let _ = writeln!(err, "webtroller explain-progress: {message}");
    };
    let report = match report(args, client).await {
        Ok(report) => report,
        Err(errors) => {
            errors.iter().for_each(|error| complain(error));
            return Ok(UNKNOWN);
        }
    };
    report.errors.iter().for_each(|error| complain(error));
    let text = match args.output {
        ProgressFormat::Text => output::text(&report),
        ProgressFormat::Json => output::json(&report),
    };
    Ok(match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has seen enough: what was found stands.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("cannot write: {error}"));
            UNKNOWN
        }
        _ => report.exit_code(),
    })
}

/// A string at a JSON pointer.
fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

/// True if this can be the name of an object. A slash would lead to a subresource of one.
fn is_name(text: &str) -> bool {
    !text.is_empty() && ![".", ".."].contains(&text) && !text.contains(['/', '%', '?', '#'])
}

async fn report(args: &ProgressArgs, client: kube::Client) -> Result<Report, Errors<String>> {
    let (kind, name) = args
        .object
        .split_once('/')
        .filter(|(kind, name)| !kind.is_empty() && is_name(name))
        .ok_or_else(|| format!("{} is not KIND/NAME, as in deployment/web", args.object))?;
    let reader = Reader::connect(client).await;
    let reader =
        reader.map_err(|error| format!("the kinds of the cluster are not known: {}", reason(&error)))?;
    let kind = reader.kinds.named(kind)?.clone();
    let namespace = args.namespace.clone().unwrap_or_else(|| reader.default_namespace().to_owned());
    let namespace = kind.namespaced.then_some(namespace.as_str());
    let (reader, tree) = Walk::tree(reader, &kind, namespace, name).await;
    let errors: Vec<_> = reader.errors.into_iter().collect();
    let Some(mut tree) = tree else {
        let place = namespace.map_or_else(String::new, |namespace| format!(" in namespace {namespace}"));
        let missing = format!("there is no {} {name}{place}", kind.resource.kind);
        return Err(if errors.is_empty() { vec![missing] } else { errors }.into());
    };
    cause::mark(&mut tree);
    Ok(Report { tree, errors })
}
