//! The lines of `gator test`, each followed by the place of the object.

use rego_compat::builtins::{Outcome, registry};

use crate::cli::judge::Offence;

pub(super) fn render(offences: &[Offence<'_>]) -> String {
    offences.iter().map(line).collect()
}

fn line(offence: &Offence<'_>) -> String {
    let object = &offence.subject.object;
    let name = match object.namespace() {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}/{}", object.name()),
    };
    format!(
        "{}/{} {name}: [{}] Message: {} ({})\n",
        object.api_version(),
        object.kind(),
        quoted(&offence.violation.constraint.name),
        quoted(&offence.violation.message),
        offence.subject.place
    )
}

/// Go's `%q`, as Rego's `sprintf` has it.
fn quoted(text: &str) -> String {
    let arguments = ["%q".into(), vec![rego_compat::Value::from(text)].into()];
    let sprintf = registry().iter().find(|builtin| builtin.name == "sprintf");
    match sprintf.map(|builtin| (builtin.run)(&arguments)) {
        Some(Outcome::Value(value)) => value.as_string().map(|quoted| quoted.to_string()).unwrap_or_default(),
        _ => format!("{text:?}"),
    }
}
