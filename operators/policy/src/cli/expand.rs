//! `webtroller expand`: prints the objects that workloads among the inputs would create, as `gator expand` does.

use std::cmp::Reverse;
use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use constraint_framework::api::{CONSTRAINTS_GROUP, TEMPLATES_GROUP};
use constraint_framework::policyset::Compiler;
use constraint_framework::review::Document;
use schema_merge::Errors;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::PrettyFormatter;

use super::assemble::{Assembly, Topic, Warning, assemble};
use super::input::{SourceArgs, StandardInput, gather};
use super::native::is_native;
use super::snippet::with_carets;
use super::{write_errors, write_text};
use crate::api_version::group;
use go_compat::sigs_yaml;

const EXAMPLES: &str = "\
Examples:
  # The Pods of the Deployments in a folder that holds ExpansionTemplates, too
  webtroller expand my-manifests/

  # As JSON, in a file
  webtroller expand my-manifests/ --format json --outputfile pods.json";

/// Print the objects that generators would create: the Pods of Deployments, the Jobs of CronJobs.
///
/// ExpansionTemplates among the inputs say which objects are generators and where in them the template of the generated
/// object is. Exits with 1 when the inputs cannot be used.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExpandArgs {
    /// Files or folders with ExpansionTemplates and generators.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The same, and images.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Output format of the objects.
    #[arg(long, short = 'f', value_enum, default_value_t, ignore_case = true)]
    pub format: ExpandFormat,
    /// Write the objects to this file, in place of what it holds.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub outputfile: Option<PathBuf>,
}

/// The format of printed objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExpandFormat {
    /// YAML documents.
    #[default]
    Yaml,
    /// JSON documents, with `---` between them as from gator.
    Json,
}

/// Runs the command and gives the exit code: 1 where the inputs cannot be used.
pub fn expand(
    args: &ExpandArgs,
    standard: StandardInput<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    match run(args, standard, out, err) {
        Ok(()) => 0,
        Err(errors) => {
            write_errors("expand", errors, err);
            1
        }
    }
}

fn run(
    args: &ExpandArgs,
    standard: StandardInput<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Errors<String>> {
    let input = args.sources.with_paths(&args.paths);
    let mut gathered = gather(&input, standard).map_err(with_carets)?;
    gathered.warn("expand", err);
    // Nothing is judged, so that policies need not be complete.
    gathered.manifests.retain(|manifest| !is_policy(&manifest.object));
    let assembly = assemble(&gathered.manifests, Compiler::default()).map_err(with_carets)?;
    let about = |warning: &&Warning| {
        matches!(warning.topic, Topic::Mutator | Topic::Kind | Topic::Key | Topic::Identity)
    };
    let warnings: Vec<_> = assembly.warnings.iter().filter(about).cloned().collect();
    let _ = Warning::print(&warnings, "expand", false, err);
    if assembly.subjects.iter().all(|subject| subject.resultants.is_empty()) {
        let text =
            "nothing is generated: no ExpansionTemplate among the inputs applies to an object among them";
        let _ = Warning::print(&[Warning::general(Topic::NoObject, text)], "expand", false, err);
    }
    let text = render(&assembly, args.format);
    let written = match &args.outputfile {
        Some(path) => std::fs::write(path, text)
            .map_err(|error| format!("{}: cannot be written: {error}", path.display())),
        None => write_text(&text, out),
    };
    Ok(written?)
}

/// Returns true if an object is a template, a constraint or one of Kubernetes' own policies.
pub(super) fn is_policy(object: &Value) -> bool {
    [TEMPLATES_GROUP, CONSTRAINTS_GROUP].contains(&group(object)) || is_native(object)
}

/// Gatekeeper's order: descending by name, version and kind, so that it does not depend on the order of the inputs.
fn render(assembly: &Assembly, format: ExpandFormat) -> String {
    let resultants = assembly.subjects.iter().flat_map(|subject| &subject.resultants);
    let mut objects: Vec<_> = resultants.map(|resultant| &resultant.object).collect();
    objects
        .sort_by_key(|object| Reverse(format!("{}{}{}", object.name(), object.api_version(), object.kind())));
    let texts: Vec<_> = objects.into_iter().map(|object| text(object, format)).collect();
    texts.join("---\n")
}

fn text(object: &Document, format: ExpandFormat) -> String {
    // What is generated is made of a JSON value, so it is one.
    let json = object.json().unwrap_or(&Value::Null);
    if format == ExpandFormat::Yaml {
        return sigs_yaml::block(&json.to_string()).unwrap_or_default();
    }
    let mut bytes = Vec::new();
    let mut writer =
        serde_json::Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"    "));
    // It came from JSON, so it goes back there.
    let _ = json.serialize(&mut writer);
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: &str = r#"
apiVersion: expansion.gatekeeper.sh/v1alpha1
kind: ExpansionTemplate
metadata: {name: cronjobs}
spec:
  applyTo: [{groups: [batch], versions: [v1], kinds: [CronJob]}]
  templateSource: spec.jobTemplate
  generatedGVK: {group: batch, version: v1, kind: Job}
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: jobs}
spec:
  applyTo: [{groups: [batch], versions: [v1], kinds: [Job]}]
  templateSource: spec.template
  generatedGVK: {group: "", version: v1, kind: Pod}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: Night, namespace: shop}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: b}]}}}}}
"#;

    fn run(input: &str, format: ExpandFormat) -> (u8, String, String) {
        let args = ExpandArgs { paths: Vec::new(), sources: SourceArgs::default(), format, outputfile: None };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
        let code = expand(&args, standard, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn what_is_generated_generates_in_turn() {
        let (code, out, err) = run(INPUT, ExpandFormat::Yaml);
        assert_eq!((code, err.as_str()), (0, ""));
        let documents = sigs_yaml::documents(&out).unwrap();
        let names: Vec<_> =
            documents.iter().map(|document| document.value["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["night-job", "night-job-pod"]);
        assert_eq!(documents[1].value["metadata"]["ownerReferences"][0]["kind"], "Job");
        let (_, json, _) = run(INPUT, ExpandFormat::Json);
        let first: serde_json::Value = serde_json::from_str(json.split("---\n").next().unwrap()).unwrap();
        assert_eq!(first, documents[0].value);
    }

    #[test]
    fn nothing_generated_is_no_silent_success() {
        let (code, out, err) =
            run(&INPUT.replace("kinds: [CronJob]", "kinds: [Cronjob]"), ExpandFormat::Yaml);
        assert_eq!((code, out.as_str()), (0, ""));
        assert!(err.starts_with("webtroller expand: warning: nothing is generated: "), "{err}");
    }

    #[test]
    fn what_cannot_be_expanded_is_an_error() {
        let (code, _, err) = run(&INPUT.replace("jobTemplate: {", "other: {"), ExpandFormat::Yaml);
        assert_eq!(code, 1);
        assert!(
            err.contains(
                "<stdin>:18: expanding resource Night: could not find source field \"spec.jobTemplate\""
            ),
            "{err}"
        );
        let cycle = INPUT.replace("kind: Pod}", "kind: CronJob}").replace("group: \"\"", "group: batch");
        let (code, _, err) = run(&cycle, ExpandFormat::Yaml);
        assert_eq!((code, err.matches("template forms expansion cycle").count()), (1, 2), "{err}");
    }

    #[test]
    fn mutators_are_checked_and_said_to_have_no_effect() {
        let mutator = "---\napiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: m}\nspec:\n  applyTo: [{groups: [\"\"], versions: [v1], kinds: [Pod]}]\n  location: spec.x\n  parameters: {assign: {value: 1}}\n";
        let (code, out, err) = run(&format!("{INPUT}{mutator}"), ExpandFormat::Yaml);
        assert_eq!((code, out), (0, run(INPUT, ExpandFormat::Yaml).1));
        assert!(
            err.contains("this Assign has no effect: mutators are checked here, and not applied yet"),
            "{err}"
        );
        let (code, _, err) =
            run(&format!("{INPUT}{}", mutator.replace("spec.x", "spec..x")), ExpandFormat::Yaml);
        assert!(
            code == 1 && err.contains("invalid Assign: /spec/location: expected a field name, found ."),
            "{err}"
        );
    }
}
