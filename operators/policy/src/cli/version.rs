//! `webtroller version`: which build this is, and what it is compatible with.

use std::io::Write;

use clap::ValueEnum;
use serde_json::json;

use super::write_text;

/// The systems that the conformance tests compare with; see docs/conformance.md.
const COMPATIBLE: [(&str, &str); 4] = [
    ("Gatekeeper", "v3.23.1"),
    ("OPA (Rego)", "v1.22.0"),
    ("cel-go (CEL)", "v0.30.0"),
    ("Kubernetes", "v1.36"),
];

/// Print the version, and the versions of what it is compatible with.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # For a bug report, and for a program
  webtroller version
  webtroller version -o json")]
pub struct VersionArgs {
    /// Output format.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: VersionFormat,
}

/// The format of printed versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VersionFormat {
    /// One a line.
    #[default]
    Text,
    /// A JSON object.
    Json,
}

/// Prints the versions.
pub fn version(args: &VersionArgs, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let commit = option_env!("WEBTROLLER_COMMIT").filter(|commit| !commit.is_empty()).unwrap_or("unknown");
    let text = match args.output {
        VersionFormat::Text => {
            let own = format!("webtroller {} (commit {commit})\n", env!("CARGO_PKG_VERSION"));
            let others = COMPATIBLE.map(|(name, version)| format!("  {name:14}{version}\n"));
            format!("{own}{}", others.concat())
        }
        VersionFormat::Json => {
            let compatible = COMPATIBLE.map(|(name, version)| (name.to_owned(), json!(version)));
            let own = json!({
                "version": env!("CARGO_PKG_VERSION"), "commit": commit,
                "compatible": serde_json::Map::from_iter(compatible),
            });
            format!("{own:#}\n")
        }
    };
    if let Err(message) = write_text(&text, out) {
        // Ignore write errors: stderr is closed.
        let _ = writeln!(err, "webtroller version: {message}");
        return 1;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPA: &str = include_str!("../../../../tests/conformance/judge/opa/go.mod");
    const GATEKEEPER: &str = include_str!("../../../../tests/conformance/judge/gatekeeper/go.mod");

    #[test]
    fn the_versions_are_those_that_tests_compare_with() {
        let [(_, gatekeeper), (_, opa), (_, cel), (_, kubernetes)] = COMPATIBLE;
        assert!(OPA.contains(&format!("github.com/open-policy-agent/opa {opa}\n")));
        assert!(GATEKEEPER.contains(&format!("github.com/open-policy-agent/gatekeeper/v3 {gatekeeper}\n")));
        assert!(GATEKEEPER.contains(&format!("github.com/google/cel-go {cel}\n")));
        let minor = kubernetes.strip_prefix("v1.").unwrap();
        assert!(GATEKEEPER.contains(&format!("k8s.io/apiserver v0.{minor}.")));
    }

    #[test]
    fn programs_get_json() {
        let mut out = Vec::new();
        assert_eq!(version(&VersionArgs { output: VersionFormat::Json }, &mut out, &mut Vec::new()), 0);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["compatible"]["Gatekeeper"], "v3.23.1");
    }
}
