//! The lines of `gator test`, each followed by the place of the object.

use go_compat::strconv::quote;

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
        quote(&offence.violation.constraint.name),
        quote(&offence.violation.message),
        offence.subject.place
    )
}
