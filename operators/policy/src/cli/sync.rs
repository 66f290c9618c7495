//! `webtroller sync test`: whether the data that templates declare is synced, as `gator sync test` checks it.
//!
//! A template says in the annotation `metadata.gatekeeper.sh/requires-sync-data` which kinds its policy reads in
//! `data.inventory`: a list of requirements that must all be met, each a list of clauses of which one must be. SyncSets and
//! the Config say which kinds are synced, a GVKManifest which ones the cluster has.

mod requirement;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use constraint_framework::api::TEMPLATES_GROUP;
use schema_merge::Errors;
use serde_json::Value;

use requirement::{Gvk, Requirement};

use super::input::{SourceArgs, StandardInput, gather};
use super::manifest::{Manifest, ManifestError, ManifestErrors, Place};
use super::snippet::with_carets;
use super::{write_errors, write_text};
use crate::api_version::group;
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  # Does what is synced cover what the templates refer to?
  webtroller sync test templates/ syncset.yaml --force-omit-gvk-manifest

  # The same, and does the cluster have those kinds?
  webtroller sync test templates/ syncset.yaml gvk-manifest.yaml";

/// Check what templates refer to.
#[derive(Clone, Debug, clap::Args)]
pub struct SyncArgs {
    /// Files and folders to check.
    #[command(subcommand)]
    pub command: SyncCommand,
}

/// The checks of referential data.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum SyncCommand {
    /// Check that the SyncSets and the Config among the inputs hold the kinds that templates require.
    ///
    /// Exits with 1 when a requirement is not met, or when the inputs cannot be used.
    Test(SyncTestArgs),
}

/// The inputs of `sync test`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SyncTestArgs {
    /// Files or folders with templates, SyncSets, a Config and a GVKManifest.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The same, and images.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Do without a GVKManifest: take every synced kind for one that the cluster has.
    #[arg(long, short = 'f')]
    pub force_omit_gvk_manifest: bool,
}

/// Runs the command and gives the exit code.
pub fn sync(args: &SyncArgs, standard: StandardInput<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let SyncCommand::Test(args) = &args.command;
    let met = run(args, standard, err).and_then(|templates| {
        let text = match templates {
            0 => "there is no template among the inputs: nothing was checked\n".to_owned(),
            _ => format!("the requirements of {} are met\n", counted(templates, "template")),
        };
        Ok(write_text(&text, out)?)
    });
    match met {
        Ok(()) => 0,
        Err(errors) => {
            write_errors("sync test", errors, err);
            1
        }
    }
}

fn run(
    args: &SyncTestArgs,
    standard: StandardInput<'_>,
    err: &mut dyn Write,
) -> Result<usize, Errors<String>> {
    let input = args.sources.with_paths(&args.paths);
    let gathered = gather(&input, standard).map_err(with_carets)?;
    gathered.warn("sync test", err);
    let resources =
        Resources::read(&gathered.manifests, args.force_omit_gvk_manifest).map_err(with_carets)?;
    let missing = resources.missing();
    if missing.is_empty() { Ok(resources.required.len()) } else { Err(missing.into()) }
}

/// The resources about data in the inputs.
#[derive(Debug, Default)]
struct Resources {
    synced: BTreeSet<Gvk>,
    /// The kinds of the cluster; `None` where any may be one.
    supported: Option<BTreeSet<Gvk>>,
    /// By the template's name.
    required: BTreeMap<String, (Place, Vec<Requirement>)>,
}

impl Resources {
    fn read(manifests: &[Manifest], omit: bool) -> Result<Self, ManifestErrors> {
        let mut resources = Self::default();
        let mut errors = Vec::new();
        let mut singletons = BTreeSet::new();
        for manifest in manifests {
            let text = |pointer| manifest.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let group = group(&manifest.object);
            let kind = (group, text("/kind"));
            let read = match kind {
                ("syncset.gatekeeper.sh", "SyncSet") => resources.sync(manifest, "/spec/gvks"),
                ("config.gatekeeper.sh", "Config") => resources.sync(manifest, "/spec/sync/syncOnly"),
                ("gvkmanifest.gatekeeper.sh", "GVKManifest") => resources.support(manifest),
                (TEMPLATES_GROUP, "ConstraintTemplate") => resources.require(manifest),
                _ => Ok(()),
            };
            let is_singleton =
                ["Config", "GVKManifest"].contains(&kind.1) && group.ends_with("gatekeeper.sh");
            if is_singleton && !singletons.insert(kind.1) {
                errors.push(ManifestError::at(manifest, format!("there must be one {} only", kind.1)));
            }
            errors.extend(read.err().map(|message| ManifestError::at(manifest, message)));
        }
        if resources.supported.is_none() && !omit {
            let message = "no GVK manifest found; please provide a manifest enumerating the GVKs supported by the \
                           cluster, or assume all of them with --force-omit-gvk-manifest";
            errors.push(ManifestError { place: None, message: message.to_owned() });
        }
        if omit {
            resources.supported = None;
        }
        if errors.is_empty() { Ok(resources) } else { Err(errors.into()) }
    }

    fn sync(&mut self, manifest: &Manifest, pointer: &str) -> Result<(), String> {
        let entries = manifest.object.pointer(pointer).cloned().unwrap_or_default();
        let entries: Option<Vec<Gvk>> =
            serde_json::from_value(entries).map_err(|error| format!("{pointer}: {error}"))?;
        self.synced.extend(entries.unwrap_or_default());
        Ok(())
    }

    fn support(&mut self, manifest: &Manifest) -> Result<(), String> {
        type Groups = BTreeMap<String, BTreeMap<String, Vec<String>>>;
        let groups = manifest.object.pointer("/spec/groups").cloned().unwrap_or_default();
        let groups: Option<Groups> =
            serde_json::from_value(groups).map_err(|error| format!("/spec/groups: {error}"))?;
        let supported = self.supported.get_or_insert_default();
        for (group, versions) in groups.unwrap_or_default() {
            for (version, kinds) in versions {
                let gvk = |kind| Gvk { group: group.clone(), version: version.clone(), kind };
                supported.extend(kinds.into_iter().map(gvk));
            }
        }
        Ok(())
    }

    fn require(&mut self, manifest: &Manifest) -> Result<(), String> {
        let requirements = requirement::of(&manifest.object)?;
        let name = manifest.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let place = Place::of(manifest);
        self.required.insert(name.to_owned(), (place, requirements));
        Ok(())
    }

    /// A line for each requirement that nothing meets.
    fn missing(&self) -> Vec<String> {
        let has = |gvk: &Gvk| {
            self.synced.contains(gvk) && self.supported.as_ref().is_none_or(|kinds| kinds.contains(gvk))
        };
        let unmet = |(name, (place, requirements)): (&String, &(Place, Vec<Requirement>))| {
            let unmet = requirements.iter().filter(|requirement| !requirement.is_met(&has));
            let line = |requirement: &Requirement| {
                let reason = if requirement.is_met(&|gvk| self.synced.contains(gvk)) {
                    "is synced and not in the GVKManifest"
                } else {
                    "is in no SyncSet and not in the Config"
                };
                format!("{place}: {name} requires {requirement}, which {reason}")
            };
            unmet.map(line).collect::<Vec<_>>()
        };
        self.required.iter().flat_map(unmet).collect()
    }
}

#[cfg(test)]
mod tests;
