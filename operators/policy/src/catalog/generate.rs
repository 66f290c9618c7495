//! The catalogue of a folder that is laid out as gatekeeper-library is: `library/CATEGORY/POLICY/template.yaml`, and beside it
//! `samples/NAME/constraint.yaml`.

use std::collections::BTreeMap;
use std::path::Path;

use schema_merge::Errors;
use serde::Deserialize;
use serde_json::Value;
use walkdir::WalkDir;

use crate::cli::load_file;

use super::GenerateArgs;
use super::model::{API_VERSION, Bundle, Catalog, KIND, Metadata, Policy};

/// The repository that gator writes for each catalogue.
pub(super) const REPOSITORY: &str = "https://github.com/open-policy-agent/gatekeeper-library";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BundlesFile {
    bundles: Vec<Bundle>,
}

/// Reads every template below the folder. `now` is the time of the catalogue.
///
/// # Errors
/// Every file that cannot be read, or that there is no `library`.
pub(super) fn catalog(args: &GenerateArgs, now: String) -> Result<Catalog, Errors<String>> {
    let library = args.library_path.join("library");
    if !library.is_dir() {
        let library = library.display();
        let error = format!("{library}: not a folder; name the one that holds it with --library-path");
        return Err(error.into());
    }
    let mut catalog = Catalog {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata: Metadata {
            name: args.name.clone(),
            version: args.version.clone(),
            updated_at: now,
            repository: REPOSITORY.to_owned(),
        },
        ..Catalog::default()
    };
    let mut errors = Vec::new();
    catalog.policies = policies(&library, &args.library_path, &mut errors);
    match args.bundles.as_deref().map(bundles_of) {
        None => catalog.bundles = annotated(&catalog.policies),
        Some(Err(error)) => errors.push(error),
        Some(Ok(bundles)) => {
            for policy in &mut catalog.policies {
                let has = |bundle: &&Bundle| bundle.policies.contains(&policy.name);
                let names: Vec<_> = bundles.iter().filter(has).map(|bundle| bundle.name.clone()).collect();
                if !names.is_empty() {
                    policy.bundles = names;
                }
            }
            catalog.bundles = bundles;
        }
    }
    if let Some(base) = &args.base_url {
        to_urls(&mut catalog, base.trim_end_matches('/'));
    }
    if errors.is_empty() { Ok(catalog) } else { Err(errors.into()) }
}

/// The policies of all templates below a folder, by name.
fn policies(library: &Path, root: &Path, errors: &mut Vec<String>) -> Vec<Policy> {
    let mut found = Vec::new();
    for entry in WalkDir::new(library).sort_by_file_name() {
        match entry.map_err(|error| error.to_string()) {
            Ok(entry) if entry.file_name() == "template.yaml" && entry.path().is_file() => {
                match policy(entry.path(), root) {
                    Ok(policy) => found.extend(policy),
                    Err(error) => errors.push(error),
                }
            }
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The policy of a template; `None` for a file with another kind of object.
fn policy(path: &Path, root: &Path) -> Result<Option<Policy>, String> {
    let template = first(path)?;
    let text = |pointer: &str| template.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/kind") != "ConstraintTemplate" {
        return Ok(None);
    }
    let annotation = |name: &str| {
        let value = template.pointer("/metadata/annotations").and_then(|all| all.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let bundles = annotation("metadata.gatekeeper.sh/bundle");
    let bundles: Vec<_> =
        bundles.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let version = match annotation("metadata.gatekeeper.sh/version") {
        version if version.is_empty() => "v1.0.0".to_owned(),
        version if version.starts_with('v') => version,
        version => format!("v{version}"),
    };
    let relative = relative(path, root);
    Ok(Some(Policy {
        name: text("/metadata/name").to_owned(),
        version,
        description: annotation("description"),
        category: category(&relative),
        bundle_constraints: constraints(path, root, &bundles)?,
        template_path: relative,
        documentation_url: annotation("policy.gatekeeper.sh/docs"),
        bundles,
    }))
}

/// `library/pod-security-policy/apparmor/template.yaml` is of `pod-security`.
fn category(relative: &str) -> String {
    match relative.split('/').nth(1) {
        Some("pod-security-policy") => "pod-security".to_owned(),
        Some(folder) => folder.replace('_', "-"),
        None => "general".to_owned(),
    }
}

/// The constraint of each bundle: of the first sample whose name holds the last word of the bundle's, else of the first.
fn constraints(template: &Path, root: &Path, bundles: &[String]) -> Result<BTreeMap<String, String>, String> {
    let mut samples = Vec::new();
    let folder = template.with_file_name("samples");
    if bundles.is_empty() || !folder.is_dir() {
        return Ok(BTreeMap::new());
    }
    for entry in WalkDir::new(&folder).min_depth(1).max_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|error| error.to_string())?;
        let files = ["constraint.yaml", "constraint.yml"].map(|name| entry.path().join(name));
        let Some(file) = files.iter().find(|file| file.is_file()) else { continue };
        let version = first(file)?.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        if version.starts_with("constraints.gatekeeper.sh/") {
            let name = entry.file_name().to_string_lossy().to_lowercase();
            samples.push((name, relative(file, root)));
        }
    }
    let of_bundle = |bundle: &String| {
        let word = bundle.rsplit('-').next().unwrap_or_default().to_lowercase();
        let found = samples.iter().find(|(name, _)| name.contains(&word)).or(samples.first());
        found.map(|(_, path)| (bundle.clone(), path.clone()))
    };
    Ok(bundles.iter().filter_map(of_bundle).collect())
}

fn first(path: &Path) -> Result<Value, String> {
    let found = load_file(path).map_err(|error| error.to_string())?;
    Ok(found.into_iter().next().map(|manifest| manifest.object).unwrap_or_default())
}

/// With slashes, from the folder that holds `library`.
fn relative(path: &Path, root: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.join("/")
}

fn bundles_of(path: &Path) -> Result<Vec<Bundle>, String> {
    let file: Result<BundlesFile, _> = serde_json::from_value(first(path)?);
    file.map(|file| file.bundles)
        .map_err(|error| format!("{}: not a file of bundles: {error}", path.display()))
}

/// The bundles that templates name.
fn annotated(policies: &[Policy]) -> Vec<Bundle> {
    let mut members: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for policy in policies {
        for bundle in &policy.bundles {
            members.entry(bundle).or_default().push(policy.name.clone());
        }
    }
    let bundle = |(name, policies): (&str, Vec<String>)| Bundle {
        name: name.to_owned(),
        description: description(name),
        inherits: String::new(),
        policies,
    };
    members.into_iter().map(bundle).collect()
}

fn description(bundle: &str) -> String {
    match bundle {
        "pod-security-baseline" => {
            "The Pod Security Standard Baseline: no known way to more privileges.".to_owned()
        }
        "pod-security-restricted" => {
            "The Pod Security Standard Restricted: Baseline, and hardened Pods.".to_owned()
        }
        _ => format!("Policy bundle: {bundle}"),
    }
}

fn to_urls(catalog: &mut Catalog, base: &str) {
    let absolute = |path: &mut String| {
        if !path.is_empty() && !path.starts_with("http") {
            *path = format!("{base}/{path}");
        }
    };
    for policy in &mut catalog.policies {
        absolute(&mut policy.template_path);
        policy.bundle_constraints.values_mut().for_each(absolute);
    }
}
