//! `webtroller policy`: policies of a catalogue, in files and in a cluster.
//!
//! `model` is the catalogue as gator has it, `library` reads it with the files it names, `generate` makes one of a folder,
//! `plan` puts together what is to be applied, `cluster` applies and removes it, `output` prints.

mod cluster;
mod generate;
mod library;
mod model;
mod output;
mod plan;
mod run;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use crate::cli::{write_errors, write_text};

/// Done, and nothing is left to do.
const DONE: u8 = 0;
/// The arguments or the catalogue cannot be used; nothing was changed.
const UNUSABLE: u8 = 1;
/// The cluster cannot be reached, or has no ConstraintTemplates.
const NO_CLUSTER: u8 = 2;
/// An object of that name is not managed by gator or `webtroller policy`.
const CONFLICT: u8 = 3;
/// Some of it was done.
const PARTIAL: u8 = 4;

const EXAMPLES: &str = "\
Examples:
  # What is in the catalogue of a checkout of gatekeeper-library?
  webtroller policy generate-catalog --library-path gatekeeper-library -o gatekeeper-library/catalog.yaml
  webtroller policy search --catalog gatekeeper-library privileged

  # Install a bundle, and only warn at first
  webtroller policy install --catalog gatekeeper-library --bundle pod-security-baseline --enforcement-action warn

  # What is installed, and what would an upgrade change?
  webtroller policy list
  webtroller policy upgrade --catalog gatekeeper-library --all --dry-run";

/// Find, install, upgrade and remove policies of a catalogue.
///
/// Exits with 0 when everything was done, with 1 when the arguments or the catalogue cannot be used, with 2 without a usable
/// cluster, with 3 when an object of that name is not managed here, and with 4 when some of it was done.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PolicyArgs {
    /// The command.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// The commands for policies.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum PolicyCommand {
    /// Search the policies of a catalogue by name and description.
    Search(SearchArgs),
    /// List the policies in the cluster that were installed from a catalogue.
    List(ListArgs),
    /// Install policies into the cluster: templates, and for bundles their constraints.
    Install(InstallArgs),
    /// Bring installed policies to the catalogue's versions.
    Upgrade(UpgradeArgs),
    /// Remove installed policies, with all constraints of their kinds.
    Uninstall(PolicyUninstallArgs),
    /// Write the catalogue of a folder that is laid out as gatekeeper-library is.
    GenerateCatalog(GenerateArgs),
}

/// The address of the catalogue.
#[derive(Clone, Debug, clap::Args)]
pub struct CatalogArgs {
    /// A catalogue with the files it names: a catalog.yaml, a folder that holds one, an OCI image as REGISTRY/NAME:TAG, or a
    /// folder with an image layout and behind a colon the tag.
    #[arg(long, default_value = ".", value_name = "PATH")]
    pub catalog: String,
}

/// The command `search`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Everything in a catalogue about privileges
  webtroller policy search --catalog gatekeeper-library privileged

  # The policies of one category, for a program
  webtroller policy search --catalog gatekeeper-library --category pod-security-policy -o json")]
pub struct SearchArgs {
    /// A part of the name or the description, in capitals or not; everything without it.
    #[arg(default_value = "")]
    pub query: String,
    /// Catalogs to search.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// Only policies of this category, such as `pod-security`.
    #[arg(long)]
    pub category: Option<String>,
    /// Only policies of this bundle.
    #[arg(long)]
    pub bundle: Option<String>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: PolicyFormat,
}

/// The command `list`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What is installed in the cluster of the current kubeconfig?
  webtroller policy list")]
pub struct ListArgs {
    /// Output format.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: PolicyFormat,
}

/// The command `install`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would be installed?
  webtroller policy install --catalog gatekeeper-library --bundle pod-security-baseline --dry-run

  # A bundle with its constraints, which only warn at first
  webtroller policy install --catalog gatekeeper-library --bundle pod-security-baseline --enforcement-action warn")]
pub struct InstallArgs {
    /// The names of policies; of these the template is installed, and no constraint.
    #[arg(value_name = "POLICY", required_unless_present = "bundles")]
    pub policies: Vec<String>,
    /// Sources of the policies.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// Install all policies of this bundle with its constraints; repeat it for several.
    #[arg(long = "bundle", value_name = "BUNDLE", value_delimiter = ',')]
    pub bundles: Vec<String>,
    /// Enforcement action of the constraints, in place of theirs and of one that was set in the cluster.
    #[arg(long, value_enum, ignore_case = true)]
    pub enforcement_action: Option<EnforcementAction>,
    /// Print what would be installed, and ask no cluster.
    #[arg(long)]
    pub dry_run: bool,
    /// Longest wait until a template is in force, before its constraint is installed.
    #[arg(long, default_value = "2m", value_name = "DURATION", value_parser = duration)]
    pub timeout: Duration,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: PolicyFormat,
}

/// The command `upgrade`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would change?
  webtroller policy upgrade --catalog gatekeeper-library --all --dry-run

  # One policy, by an image in a registry
  webtroller policy upgrade --catalog registry.example.com/team/catalog:v2 k8srequiredlabels")]
pub struct UpgradeArgs {
    /// The names of installed policies.
    #[arg(value_name = "POLICY", required_unless_present_any = ["bundles", "all"])]
    pub policies: Vec<String>,
    /// Sources of the new versions.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// Upgrade everything that is installed.
    #[arg(long)]
    pub all: bool,
    /// Upgrade the policies of this bundle; repeat it for several.
    #[arg(long = "bundle", value_name = "BUNDLE", value_delimiter = ',')]
    pub bundles: Vec<String>,
    /// Enforcement action of the constraints, in place of one that was set in the cluster.
    #[arg(long, value_enum, ignore_case = true)]
    pub enforcement_action: Option<EnforcementAction>,
    /// Print what would be upgraded; the cluster is only read.
    #[arg(long)]
    pub dry_run: bool,
    /// Longest wait until a template is in force, before its constraint is upgraded.
    #[arg(long, default_value = "2m", value_name = "DURATION", value_parser = duration)]
    pub timeout: Duration,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: PolicyFormat,
}

/// The command `uninstall`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # A policy with all constraints of its kind
  webtroller policy uninstall k8srequiredlabels")]
pub struct PolicyUninstallArgs {
    /// The names of installed policies.
    #[arg(value_name = "POLICY", required_unless_present = "bundles")]
    pub policies: Vec<String>,
    /// Catalogs that describe bundles.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// Remove the policies of this bundle; repeat it for several.
    #[arg(long = "bundle", value_name = "BUNDLE", value_delimiter = ',')]
    pub bundles: Vec<String>,
    /// Print what would be removed; the cluster is only read.
    #[arg(long)]
    pub dry_run: bool,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: PolicyFormat,
}

/// The command that writes a catalogue.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The catalogue of a checkout of gatekeeper-library
  webtroller policy generate-catalog --library-path gatekeeper-library -o gatekeeper-library/catalog.yaml")]
pub struct GenerateArgs {
    /// The folder that holds `library/CATEGORY/POLICY/template.yaml`.
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub library_path: PathBuf,
    /// The file to write.
    #[arg(long, short, default_value = "catalog.yaml", value_name = "FILE")]
    pub output: PathBuf,
    /// The name of the catalogue.
    #[arg(long, default_value = "gatekeeper-library")]
    pub name: String,
    /// The version of the catalogue.
    #[arg(long, default_value = "v1.0.0")]
    pub version: String,
    /// A file with `bundles`, instead of the annotations `metadata.gatekeeper.sh/bundle` of templates.
    #[arg(long, value_name = "FILE")]
    pub bundles: Option<PathBuf>,
    /// Write URLs that begin so instead of paths; for gator: nothing is downloaded here.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Write nothing that has errors.
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub validate: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    go_compat::duration::parse_unsigned(text).ok_or_else(|| "a duration such as 90s or 2m".to_owned())
}

/// The effect of a violation of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EnforcementAction {
    /// It is refused.
    Deny,
    /// It is admitted with a warning.
    Warn,
    /// It is admitted, and reported by the audit.
    Dryrun,
}

/// The format of printed output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PolicyFormat {
    /// For people.
    #[default]
    Table,
    /// A JSON document, as gator's.
    Json,
}

impl EnforcementAction {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Dryrun => "dryrun",
        }
    }
}

/// Runs the command and gives the exit code. `connect` makes the client, where one is needed.
///
/// # Errors
/// Errors of `connect`.
pub async fn policy<E>(
    args: &PolicyArgs,
    connect: impl AsyncFnOnce() -> Result<kube::Client, E>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, E> {
    let report = match &args.command {
        PolicyCommand::Search(args) => run::search(args),
        PolicyCommand::GenerateCatalog(args) => run::generate(args),
        PolicyCommand::Install(args) if args.dry_run => run::install_dry(args),
        PolicyCommand::Install(args) => run::install(args, connect().await?).await,
        PolicyCommand::List(args) => run::list(args, connect().await?).await,
        PolicyCommand::Upgrade(args) => run::upgrade(args, connect().await?).await,
        PolicyCommand::Uninstall(args) => run::uninstall(args, connect().await?).await,
    };
    write_errors("policy", &report.messages, err);
    Ok(match write_text(&report.text, out) {
        Ok(()) => report.code,
        Err(error) => {
            write_errors("policy", [error], err);
            UNUSABLE
        }
    })
}

/// The outcome of a command.
#[derive(Debug, Default)]
struct Report {
    code: u8,
    /// For standard output.
    text: String,
    /// For standard error.
    messages: Vec<String>,
}

#[cfg(test)]
mod tests;
