//! Results as gator prints them: lines and tables for people, JSON documents for programs.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::PolicyFormat;
use super::cluster::Installed;
use super::model::{API_VERSION, Policy};

/// Characters of a description in a table.
const SHORT: usize = 50;

/// The changes that a command made, or would make. Fields that are empty are left out of JSON.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    #[serde(skip)]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) installed: Vec<Version>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) upgraded: Vec<Change>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) uninstalled: Vec<String>,
    /// Installed in this version already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) skipped: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) already_current: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_installed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_found: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_managed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) failed: Vec<Failed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) templates_installed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) constraints_installed: Option<usize>,
    pub(super) dry_run: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Version {
    pub(super) name: String,
    pub(super) version: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) from_version: String,
    pub(super) to_version: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Failed {
    pub(super) name: String,
    pub(super) error: String,
}

impl Outcome {
    pub(super) fn render(&self, format: PolicyFormat) -> String {
        match format {
            PolicyFormat::Json => {
                pretty(&json!({ "apiVersion": API_VERSION, "kind": self.kind, "result": self }))
            }
            PolicyFormat::Table => self.lines(),
        }
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        let mut line = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        for Version { name, version } in &self.installed {
            line(if self.dry_run {
                format!("(dry-run) {name} {version}")
            } else {
                format!("✓ {name} ({version}) installed")
            });
        }
        for Change { name, from_version, to_version } in &self.upgraded {
            line(if self.dry_run {
                format!("(dry-run) {name} {from_version} -> {to_version}")
            } else {
                format!("✓ {name} upgraded ({from_version} → {to_version})")
            });
        }
        for name in &self.uninstalled {
            line(if self.dry_run { format!("(dry-run) {name}") } else { format!("✓ {name} uninstalled") });
        }
        let remarks = [
            (&self.skipped, "already installed at same version"),
            (&self.already_current, "already at the catalogue's version"),
            (&self.not_installed, "not installed"),
            (
                &self.not_found,
                if self.kind == "UpgradeResult" { "not found in catalog" } else { "not found" },
            ),
        ];
        for (names, remark) in remarks {
            names.iter().for_each(|name| line(format!("- {name} ({remark})")));
        }
        self.not_managed.iter().for_each(|name| line(format!("✗ {name} - not managed by gator")));
        self.failed.iter().for_each(|Failed { name, error }| line(format!("✗ {name} - failed: {error}")));
        if let (Some(templates), Some(constraints)) = (self.templates_installed, self.constraints_installed)
            && self.failed.is_empty()
            && !self.dry_run
        {
            line(format!("\n✓ Installed {templates} templates, {constraints} constraints"));
        }
        if text.is_empty() {
            text.push_str("Nothing to do.\n");
        }
        text
    }
}

pub(super) fn found(policies: &[&Policy], format: PolicyFormat) -> String {
    if format == PolicyFormat::Json {
        let entry = |policy: &&Policy| {
            json!({
                "name": policy.name, "version": policy.version,
                "category": policy.category, "description": policy.description,
            })
        };
        let results: Vec<Value> = policies.iter().map(entry).collect();
        return pretty(&json!({ "apiVersion": API_VERSION, "results": results }));
    }
    if policies.is_empty() {
        return "No policies found.\n".to_owned();
    }
    let short = |text: &str| {
        let line = text.replace('\n', " ");
        if line.chars().count() <= SHORT {
            return line;
        }
        let cut: String = line.chars().take(SHORT.saturating_sub(3)).collect();
        format!("{cut}...")
    };
    let row = |policy: &&Policy| {
        [policy.name.clone(), policy.version.clone(), policy.category.clone(), short(&policy.description)]
    };
    table(["NAME", "VERSION", "CATEGORY", "DESCRIPTION"], policies.iter().map(row))
}

pub(super) fn installed(policies: &[Installed], format: PolicyFormat) -> String {
    if format == PolicyFormat::Json {
        let entry = |installed: &Installed| {
            let mut entry = json!({ "name": installed.policy, "version": installed.version });
            for (field, value) in [("bundle", &installed.bundle), ("installedAt", &installed.since)] {
                if let Some(fields) = entry.as_object_mut().filter(|_| !value.is_empty()) {
                    fields.insert(field.to_owned(), json!(value));
                }
            }
            entry
        };
        let policies: Vec<Value> = policies.iter().map(entry).collect();
        return pretty(&json!({ "apiVersion": API_VERSION, "policies": policies }));
    }
    if policies.is_empty() {
        return "No policies installed.\n".to_owned();
    }
    let row = |installed: &Installed| {
        let bundle = if installed.bundle.is_empty() { "-" } else { &installed.bundle };
        // The date of the time.
        let since = installed.since.split('T').next().unwrap_or_default();
        [&installed.policy, &installed.version, bundle, since].map(str::to_owned)
    };
    table(["NAME", "VERSION", "BUNDLE", "INSTALLED"], policies.iter().map(row))
}

/// Columns as wide as they need to be, with two spaces between them.
fn table(head: [&str; 4], rows: impl Iterator<Item = [String; 4]>) -> String {
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let mut widths = [0; 4];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let [first, second, third, _] = widths;
    let mut text = String::new();
    for [a, b, c, d] in rows {
        let _ = writeln!(text, "{a:first$}  {b:second$}  {c:third$}  {d}");
    }
    text
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
