//! One generated object: how it is built, and how its violations are reported on the generator.

use serde_json::{Map, Value, json};

use crate::review::{Action, Document, Verdict};

use super::{ExpansionError, ExpansionTemplate};

/// An object that a generator would create. Review it with [`ReviewSource::Generated`](crate::review::ReviewSource).
#[derive(Clone, Debug)]
pub struct Resultant {
    /// The generated object.
    pub object: Document,
    /// The name of the ExpansionTemplate.
    pub template: String,
    /// The action that the template gives to each violation, if it gives one.
    pub enforcement_action: Option<Action>,
}

impl Resultant {
    /// Takes the value at the template's source, and gives it kind, namespace, name and owner.
    pub(super) fn new(template: &ExpansionTemplate, generator: &Document) -> Result<Self, ExpansionError> {
        let object = || generator.name().to_owned();
        let field = || template.template_source.clone();
        let refused = |reason: String| ExpansionError::Source { field: field(), object: object(), reason };
        let generator_json = generator.json().map_err(|error| refused(error.to_string()))?;
        let source = template
            .template_source
            .split('.')
            .try_fold(generator_json, |value, key| value.get(key))
            .and_then(Value::as_object)
            .ok_or_else(|| ExpansionError::NoSource {
                template: template.name.clone(),
                field: field(),
                object: object(),
            })?;
        let mut fields = source.clone();
        fields.insert("apiVersion".to_owned(), template.generated.api_version().into());
        fields.insert("kind".to_owned(), template.generated.kind.clone().into());
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if metadata.is_null() {
            *metadata = json!({});
        }
        let metadata =
            metadata.as_object_mut().ok_or_else(|| refused("its metadata is not a mapping".to_owned()))?;
        complete(metadata, &template.generated.kind, generator);
        let object =
            Document::from_value(&Value::Object(fields)).map_err(|error| refused(error.to_string()))?;
        Ok(Self { object, template: template.name.clone(), enforcement_action: template.enforcement_action })
    }

    /// Returns the verdict on this object as one on its generator: each message names the template that implies it, and the
    /// template's action takes the place of the constraints' own.
    pub fn attribute(&self, verdict: &Verdict) -> Verdict {
        let mut violations = verdict.violations().to_vec();
        for violation in &mut violations {
            violation.message = format!("[Implied by {}] {}", self.template, violation.message);
            if let Some(action) = self.enforcement_action {
                violation.actions = vec![action];
            }
        }
        Verdict::new(violations)
    }
}

/// Completes the metadata. Gatekeeper guesses the name, since the controller's own is not known yet: `web` and `Pod` make
/// `web-pod`.
fn complete(metadata: &mut Map<String, Value>, kind: &str, generator: &Document) {
    match generator.namespace() {
        "" => metadata.remove("namespace"),
        namespace => metadata.insert("namespace".to_owned(), namespace.into()),
    };
    let name = format!("{}-{kind}", generator.name()).to_lowercase();
    metadata.insert("name".to_owned(), name.into());
    let [version, owner, called] = [generator.api_version(), generator.kind(), generator.name()];
    if [version, owner, called].contains(&"") {
        return;
    }
    let is_owner = |reference: &Value| {
        let is = |field: &str, value: &str| reference.get(field).and_then(Value::as_str) == Some(value);
        is("apiVersion", version) && is("kind", owner) && is("name", called)
    };
    let references = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
    if references.is_null() {
        *references = json!([]);
    }
    if let Some(references) = references.as_array_mut().filter(|list| !list.iter().any(is_owner)) {
        references.push(json!({"apiVersion": version, "kind": owner, "name": called, "uid": ""}));
    }
}
