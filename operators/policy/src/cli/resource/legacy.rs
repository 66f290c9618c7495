//! Templates and constraints of Config Validator's older form (`v1alpha1`), as the constraint framework takes them.
//!
//! ```text
//! targets:                                               targets:
//!   validation.gcp.forsetisecurity.org:                    - target: validation.gcp.forsetisecurity.org
//!     rego: |                                                rego: |
//!       package templates.gcp.A                                package templates.gcp.A
//!       import data.validator.gcp.lib as lib        →          import data.lib.validator.gcp.lib as lib
//!       deny[{"msg": m, "details": d}] { …                     deny[{"msg": m, "details": d}] { …
//!         input.asset …                                        violation[found] { deny[found] with input as …
//!         input.constraint.spec.parameters …                 libs: […]
//! ```

use regex::{NoExpand, Regex};
use serde_json::{Map, Value, json};

/// The rule that the framework asks for, made of one that has the older name and reads the older input.
const ADAPTER: &str = r#"
violation[found] {
    deny[found] with input as {"asset": input.review, "constraint": {"spec": {"parameters": input.parameters}}}
}
"#;

/// Moves `data.validator` to where libraries of templates are. It is done to the text: a string with that name is changed too.
pub(super) struct Mover {
    package: Regex,
    reference: Regex,
}

// === impl Mover ===

impl Mover {
    pub(super) fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            package: Regex::new(r"(?m)^[ \t]*package[ \t]+validator\b")?,
            reference: Regex::new(r"\bdata\.validator\b")?,
        })
    }

    pub(super) fn moved(&self, rego: &str) -> String {
        let rego = self.package.replace_all(rego, NoExpand("package lib.validator"));
        self.reference.replace_all(&rego, NoExpand("data.lib.validator")).into_owned()
    }
}

/// A template in the framework's form; one that has it already is left as it is.
pub(super) fn template(mut template: Value, mover: &Mover, libraries: &[String]) -> Result<Value, String> {
    let Some(targets) = template.pointer("/spec/targets").and_then(Value::as_object) else {
        return Ok(template);
    };
    let Some((target, code)) = targets.iter().next().filter(|_| targets.len() == 1) else {
        return Err(format!("/spec/targets: must be one target, not {}", targets.len()));
    };
    let rego = code.get("rego").and_then(Value::as_str).ok_or("/spec/targets: no rego")?;
    let rego = format!("{}\n{ADAPTER}", mover.moved(rego));
    let targets = json!([{"target": target, "rego": rego, "libs": libraries}]);
    let kind = template.pointer("/spec/crd/spec/names/kind").and_then(Value::as_str);
    let name = kind.ok_or("/spec/crd/spec/names/kind: must be set")?.to_lowercase();
    put(&mut template, "/spec", "targets", targets);
    put(&mut template, "/metadata", "name", json!(name));
    Ok(template)
}

/// A constraint in the framework's form: names become those that Kubernetes allows, and `*` in the older lists means `**`.
pub(super) fn constraint(mut constraint: Value) -> Value {
    let version = constraint.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if !version.ends_with("/v1alpha1") {
        return constraint;
    }
    if let Some(name) = constraint.pointer("/metadata/name").and_then(Value::as_str) {
        let name = json!(name.to_lowercase().replace('_', "-"));
        put(&mut constraint, "/metadata", "name", name);
    }
    for list in ["target", "exclude"] {
        let globs = constraint.pointer_mut(&format!("/spec/match/{list}")).and_then(Value::as_array_mut);
        for glob in globs.into_iter().flatten() {
            if let Value::String(text) = glob {
                *text = deep(text);
            }
        }
    }
    constraint
}

/// `organization/1/*` → `organizations/1/**`.
fn deep(glob: &str) -> String {
    let parts = plural(glob);
    let last = parts.split('/').count().saturating_sub(1);
    let parts = parts.split('/').enumerate();
    let deep =
        parts.map(|(position, part)| if part == "*" && (position > 0 || last == 0) { "**" } else { part });
    deep.collect::<Vec<_>>().join("/")
}

/// The newer words for an ancestry.
pub(super) fn plural(ancestry: &str) -> String {
    let singular = [("organization/", "organizations/"), ("folder/", "folders/"), ("project/", "projects/")];
    singular.iter().fold(ancestry.to_owned(), |path, (old, new)| path.replace(old, new))
}

fn put(value: &mut Value, parent: &str, field: &str, to: Value) {
    if let Some(fields) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        let fields: &mut Map<_, _> = fields;
        fields.insert(field.to_owned(), to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_template_has_the_new_form_and_a_newer_one_stays() {
        let rego = "package templates.gcp.A\nimport data.validator.gcp.lib as lib\ndeny[x] { lib.y(x) }";
        let older = json!({
            "metadata": {"name": "gcp-a-v1"},
            "spec": {"crd": {"spec": {"names": {"kind": "GCPA"}}}, "targets": {"t": {"rego": rego}}},
        });
        let mover = Mover::new().unwrap();
        let newer = template(older, &mover, &[mover.moved("package validator.gcp.lib\ny(x) { x }")]).unwrap();
        assert_eq!(newer["metadata"]["name"], "gcpa");
        let target = &newer["spec"]["targets"][0];
        assert_eq!(target["target"], "t");
        assert!(
            target["rego"].as_str().unwrap().contains("import data.lib.validator.gcp.lib as lib"),
            "{target}"
        );
        assert_eq!(target["libs"][0], "package lib.validator.gcp.lib\ny(x) { x }");
        assert_eq!(template(newer.clone(), &mover, &[]).unwrap(), newer);
    }

    #[test]
    fn an_older_constraint_has_a_valid_name_and_deep_stars() {
        let older = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1alpha1", "metadata": {"name": "Some_Buckets"},
            "spec": {"match": {"target": ["organization/1/*", "organizations/**"], "ancestries": ["folders/*"]}},
        });
        let newer = constraint(older);
        assert_eq!(newer["metadata"]["name"], "some-buckets");
        assert_eq!(newer["spec"]["match"]["target"], json!(["organizations/1/**", "organizations/**"]));
        assert_eq!(newer["spec"]["match"]["ancestries"], json!(["folders/*"]), "the newer list is as it was");
    }
}
