//! The commands.

use go_compat::sigs_yaml;
use schema_merge::Errors;

use super::cluster::{Cluster, Failure, Installed};
use super::library::Library;
use super::model::Policy;
use super::output::{self, Change, Failed, Outcome, Version};
use super::plan::{self, Step};
use super::{
    CONFLICT, DONE, GenerateArgs, InstallArgs, ListArgs, NO_CLUSTER, PARTIAL, PolicyUninstallArgs, Report,
    SearchArgs, UNUSABLE, UpgradeArgs, generate as generator,
};
use crate::text::counted;
use crate::written::now;

impl Report {
    fn done(text: String) -> Self {
        Self { code: DONE, text, messages: Vec::new() }
    }

    fn refused(errors: impl IntoIterator<Item = String>) -> Self {
        Self { code: UNUSABLE, text: String::new(), messages: errors.into_iter().collect() }
    }

    fn failed(failure: &Failure) -> Self {
        Self { code: NO_CLUSTER, text: String::new(), messages: vec![failure.to_string()] }
    }
}

pub(super) fn search(args: &SearchArgs) -> Report {
    match find(args) {
        Ok(text) => Report::done(text),
        Err(error) => Report::refused([error]),
    }
}

fn find(args: &SearchArgs) -> Result<String, String> {
    let library = Library::open(&args.catalog.catalog)?;
    let members = args.bundle.as_deref().map(|bundle| library.catalog.members(bundle)).transpose()?;
    let query = args.query.to_lowercase();
    let is_wanted = |policy: &&Policy| {
        let is_member = members.as_ref().is_none_or(|names| names.contains(&policy.name.as_str()));
        let is_of = args.category.as_ref().is_none_or(|wanted| policy.category.eq_ignore_ascii_case(wanted));
        let has = |text: &str| text.to_lowercase().contains(&query);
        is_member && is_of && (has(&policy.name) || has(&policy.description))
    };
    let found: Vec<_> = library.catalog.policies.iter().filter(is_wanted).collect();
    Ok(output::found(&found, args.output))
}

pub(super) fn generate(args: &GenerateArgs) -> Report {
    match write_catalog(args) {
        Ok(text) => Report::done(text),
        Err(errors) => Report::refused(errors),
    }
}

fn write_catalog(args: &GenerateArgs) -> Result<String, Errors<String>> {
    let catalog = generator::catalog(args, now())?;
    let errors = if args.validate { catalog.errors() } else { Vec::new() };
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let json = serde_json::to_string(&catalog).map_err(|error| error.to_string())?;
    let text = sigs_yaml::block(&json).map_err(|error| error.to_string())?;
    let text = format!("# Written by `webtroller policy generate-catalog`.\n{text}");
    let refused = |error| vec![format!("{}: cannot be written: {error}", args.output.display())];
    std::fs::write(&args.output, text).map_err(refused)?;
    let policies = counted(catalog.policies.len(), "policy");
    let bundles = counted(catalog.bundles.len(), "bundle");
    Ok(format!("{policies} and {bundles} written to {}\n", args.output.display()))
}

fn steps_to_install(args: &InstallArgs) -> Result<Vec<Step>, Errors<String>> {
    let library = Library::open(&args.catalog.catalog)?;
    let wanted = plan::wanted(&library, &args.policies, &args.bundles)?;
    plan::steps(&library, &wanted, args.enforcement_action, &now())
}

/// A note on what has no effect.
fn remarks(args: &InstallArgs) -> Vec<String> {
    let idle = args.enforcement_action.is_some() && args.bundles.is_empty();
    let remark =
        "warning: --enforcement-action has no effect without --bundle: templates do not enforce anything";
    idle.then(|| remark.to_owned()).into_iter().collect()
}

pub(super) fn install_dry(args: &InstallArgs) -> Report {
    let steps = match steps_to_install(args) {
        Ok(steps) => steps,
        Err(errors) => return Report::refused(errors),
    };
    let outcome = Outcome {
        kind: "InstallResult",
        templates_installed: Some(steps.len()),
        constraints_installed: Some(steps.iter().filter(|step| step.constraint.is_some()).count()),
        installed: steps
            .into_iter()
            .map(|step| Version { name: step.policy, version: step.version })
            .collect(),
        dry_run: true,
        ..Outcome::default()
    };
    Report { messages: remarks(args), ..Report::done(outcome.render(args.output)) }
}

pub(super) async fn install(args: &InstallArgs, client: kube::Client) -> Report {
    let steps = match steps_to_install(args) {
        Ok(steps) => steps,
        Err(errors) => return Report::refused(errors),
    };
    let cluster = Cluster::new(client);
    if let Err(failure) = cluster.installed().await {
        return Report::failed(&failure);
    }
    let mut outcome = Outcome { kind: "InstallResult", ..Outcome::default() };
    let (mut templates, mut constraints, mut code) = (0_usize, 0_usize, DONE);
    let mut messages = remarks(args);
    let mut left = steps.iter();
    for step in left.by_ref() {
        match cluster.apply(step, args.timeout).await {
            Ok([false, false]) => outcome.skipped.push(step.policy.clone()),
            Ok([template, constraint]) => {
                templates = templates.saturating_add(template.into());
                constraints = constraints.saturating_add(constraint.into());
                let (name, version) = (step.policy.clone(), step.version.clone());
                outcome.installed.push(Version { name, version });
            }
            Err(failure) => {
                code = code_of(&failure);
                outcome.failed.push(Failed { name: step.policy.clone(), error: failure.to_string() });
                break;
            }
        }
    }
    messages.extend(not_tried(left));
    (outcome.templates_installed, outcome.constraints_installed) = (Some(templates), Some(constraints));
    Report { code, text: outcome.render(args.output), messages }
}

fn code_of(failure: &Failure) -> u8 {
    match failure {
        Failure::Conflict { .. } => CONFLICT,
        Failure::NotInstalled => NO_CLUSTER,
        Failure::Refused(_) | Failure::Outdated | Failure::Slow { .. } | Failure::Request(_) => PARTIAL,
    }
}

fn not_tried<'a>(left: impl Iterator<Item = &'a Step>) -> Option<String> {
    let names: Vec<_> = left.map(|step| step.policy.as_str()).collect();
    (!names.is_empty()).then(|| format!("not tried: {}; run the command again", names.join(", ")))
}

pub(super) async fn list(args: &ListArgs, client: kube::Client) -> Report {
    match Cluster::new(client).installed().await {
        Ok(installed) => Report::done(output::installed(&installed, args.output)),
        Err(failure) => Report::failed(&failure),
    }
}

/// Sorts policies into those to be upgraded and those not: each policy is in one list.
fn sorted(
    args: &UpgradeArgs,
    library: &Library,
    installed: &[Installed],
) -> Result<(Vec<Installed>, Outcome), Errors<String>> {
    let mut outcome = Outcome { kind: "UpgradeResult", dry_run: args.dry_run, ..Outcome::default() };
    let mut names: Vec<_> =
        plan::wanted(library, &args.policies, &args.bundles)?.into_iter().map(|(name, _)| name).collect();
    if args.all {
        let more = installed.iter().map(|installed| installed.policy.clone());
        let more: Vec<_> = more.filter(|name| !names.contains(name)).collect();
        names.extend(more);
    }
    let mut old = Vec::new();
    for name in names {
        let found = installed.iter().find(|installed| installed.policy == name);
        match (found, library.catalog.policy(&name)) {
            (None, _) => outcome.not_installed.push(name),
            (Some(_), None) => outcome.not_found.push(name),
            (Some(found), Some(policy)) if found.version == policy.version => {
                outcome.already_current.push(name)
            }
            (Some(found), Some(_)) => old.push(found.clone()),
        }
    }
    Ok((old, outcome))
}

pub(super) async fn upgrade(args: &UpgradeArgs, client: kube::Client) -> Report {
    let library = match Library::open(&args.catalog.catalog) {
        Ok(library) => library,
        Err(error) => return Report::refused([error]),
    };
    let cluster = Cluster::new(client);
    let installed = match cluster.installed().await {
        Ok(installed) => installed,
        Err(failure) => return Report::failed(&failure),
    };
    let (old, mut outcome) = match sorted(args, &library, &installed) {
        Ok(sorted) => sorted,
        Err(errors) => return Report::refused(errors),
    };
    let bundle = |installed: &Installed| -> Option<String> {
        Some(installed.bundle.clone()).filter(|bundle| !bundle.is_empty())
    };
    let bundles: Vec<_> = old.iter().map(bundle).collect();
    let wanted: Vec<_> =
        old.iter().zip(&bundles).map(|(old, bundle)| (old.policy.clone(), bundle.as_deref())).collect();
    let steps = match plan::steps(&library, &wanted, args.enforcement_action, &now()) {
        Ok(steps) => steps,
        Err(errors) => return Report::refused(errors),
    };
    // A name that was typed and is not there may be misspelt; one of a bundle need not be installed.
    let missing = |name: &String| args.policies.contains(name);
    let mut code = if outcome.not_installed.iter().any(missing) || !outcome.not_found.is_empty() {
        PARTIAL
    } else {
        DONE
    };
    let mut left = steps.iter().zip(&old);
    for (step, old) in left.by_ref() {
        if !args.dry_run
            && let Err(failure) = cluster.apply(step, args.timeout).await
        {
            code = code_of(&failure);
            outcome.failed.push(Failed { name: step.policy.clone(), error: failure.to_string() });
            break;
        }
        let (from_version, to_version) = (old.version.clone(), step.version.clone());
        outcome.upgraded.push(Change { name: step.policy.clone(), from_version, to_version });
    }
    let messages = not_tried(left.map(|(step, _)| step)).into_iter().collect();
    Report { code, text: outcome.render(args.output), messages }
}

pub(super) async fn uninstall(args: &PolicyUninstallArgs, client: kube::Client) -> Report {
    let names = match names_to_remove(args) {
        Ok(names) => names,
        Err(errors) => return Report::refused(errors),
    };
    let cluster = Cluster::new(client);
    if let Err(failure) = cluster.installed().await {
        return Report::failed(&failure);
    }
    let mut outcome = Outcome { kind: "UninstallResult", dry_run: args.dry_run, ..Outcome::default() };
    let mut code = DONE;
    for name in names {
        let removed = if args.dry_run { cluster.removable(&name).await } else { cluster.remove(&name).await };
        match removed {
            Ok(true) => outcome.uninstalled.push(name),
            Ok(false) => outcome.not_found.push(name),
            Err(failure @ Failure::Conflict { .. }) => {
                code = code_of(&failure);
                outcome.not_managed.push(name);
            }
            Err(failure) => {
                code = code_of(&failure);
                outcome.failed.push(Failed { name, error: failure.to_string() });
                break;
            }
        }
    }
    Report { code, text: outcome.render(args.output), messages: Vec::new() }
}

/// A catalogue is needed for bundles only.
fn names_to_remove(args: &PolicyUninstallArgs) -> Result<Vec<String>, Errors<String>> {
    if args.bundles.is_empty() {
        return Ok(args.policies.clone());
    }
    let library = Library::open(&args.catalog.catalog)?;
    let wanted = plan::wanted(&library, &args.policies, &args.bundles)?;
    Ok(wanted.into_iter().map(|(name, _)| name).collect())
}
