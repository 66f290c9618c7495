//! A merge with one place left open: [`Frame`], for schemas that differ in one fragment only.
//!
//! No other fragment describes what an exclusive fragment describes, so the rest is joined and checked once, and a fragment is
//! then checked alone below its parents. Whenever that finds anything, or the parents could matter to it, the whole is
//! built and judged as `merger.rs` does, which also words the errors.
//!
//! Worked example, with the open place `spec.parameters`:
//!
//! ```text
//! the rest    spec: {match: {…}, enforcementAction: string}                  joined and checked once, when the frame is made
//! fragment    {labels: {type: array, items: {type: string}}}                 one template
//! checked     {properties: {spec: {properties: {parameters: <fragment>}}}}   each time: its parents, and nothing beside them
//! built       the rest with an empty object at `spec.parameters`, which the fragment replaces
//! ```
//!
//! A `oneOf` in the fragment is checked there as it would be in the whole. A `oneOf` in `spec` may restrict what is in the
//! fragment: such a rest has no [`Around`], and every fragment is joined with it anew.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{Merger, boundary, join, options, sorted};
use crate::conflict::MergeError;
use crate::decode::decode;
use crate::diagnostic::Diagnostic;
use crate::errors::Errors;
use crate::fragment::{Fragment, MountDefault, RequiredPropagation, Sharing};
use crate::keyword::RULES;
use crate::merged::Merged;
use crate::node::Node;
use crate::object::{ObjectVerdict, judge, unchecked, validate_object};
use crate::path::MountPath;
use crate::structural::{StructuralOptions, check_refusals, is_refused};

/// Everything but one fragment, joined and checked once.
///
/// ```
/// use schema_merge::{Fragment, Merger, MountPath};
/// use serde_json::json;
///
/// let parameters = MountPath::of(["spec", "parameters"]);
/// let target = Fragment::new("target", MountPath::of(["spec", "match"]), json!({"type": "object"}));
/// let frame = Merger::new().mount(target).frame(parameters.clone());
/// let template = Fragment::new("template", parameters, json!({"type": "object"}));
/// let schema = frame.build(Some(&template)).expect("an object beside another");
/// assert_eq!(schema["properties"]["spec"]["properties"]["parameters"], json!({"type": "object"}));
/// ```
#[derive(Clone, Debug)]
pub struct Frame {
    merger: Merger,
    at: MountPath,
    around: Option<Around>,
}

/// The surroundings of the open place, where they are known without what comes into it.
#[derive(Clone, Debug)]
struct Around {
    /// The schema with a stand-in in the open place.
    open: Value,
    /// The schema without the open place.
    closed: Value,
    /// The keywords of the nodes on the way to the open place, outermost first.
    parents: Vec<Map<String, Value>>,
    options: StructuralOptions,
}

impl Merger {
    /// Leaves `at` open for one exclusive fragment, and joins everything else.
    ///
    /// Never fails: [`Frame::check`] returns what keeps the rest from being joined.
    #[must_use]
    pub fn frame(self, at: MountPath) -> Frame {
        let around = Around::new(&self, &at);
        Frame { merger: self, at, around }
    }
}

impl Frame {
    /// Checks that [`Frame::build`] gives a schema.
    ///
    /// # Errors
    /// Those of [`Merger::build`] with this fragment mounted.
    pub fn check(&self, fragment: Option<&Fragment>) -> Result<(), Errors<MergeError>> {
        match self.fitting(fragment) {
            Some(_) => Ok(()),
            None => self.whole(fragment).map(drop),
        }
    }

    /// Builds the schema with this fragment mounted, or with none.
    ///
    /// # Errors
    /// Those of [`Merger::build`] with this fragment mounted.
    pub fn build(&self, fragment: Option<&Fragment>) -> Result<Value, Errors<MergeError>> {
        match (self.fitting(fragment), fragment) {
            (None, _) => self.whole(fragment).map(Merged::into_schema),
            (Some(around), None) => Ok(around.closed.clone()),
            (Some(around), Some(fragment)) => {
                let mut schema = around.open.clone();
                match place(&mut schema, &self.at) {
                    Some(place) => *place = sorted(self.stripped(fragment).into_owned()),
                    None => return self.whole(Some(fragment)).map(Merged::into_schema),
                }
                Ok(schema)
            }
        }
    }

    /// Validates `object` as the API server does under the schema with this fragment; see [`validate_object`].
    ///
    /// Where [`Frame::check`] refuses the fragment there is no such schema, and no object is valid: the verdict holds one
    /// error with the text of all the conflicts.
    #[must_use]
    pub fn validate_object(&self, fragment: Option<&Fragment>, object: &Value) -> ObjectVerdict {
        let stripped = fragment.map(|fragment| self.stripped(fragment));
        let decoded = self.fitting(fragment).and_then(|around| match &stripped {
            None => Some(decode(&around.closed, "", "")),
            Some(schema) => around.node(&self.at, schema),
        });
        match decoded {
            Some((node, diagnostics)) => judge(object, &node, &diagnostics),
            None => match self.whole(fragment) {
                Ok(merged) => validate_object(merged.schema(), object),
                Err(errors) => unchecked(object, errors.to_string()),
            },
        }
    }

    fn stripped<'f>(&self, fragment: &'f Fragment) -> Cow<'f, Value> {
        join::stripped(&self.merger.terms, &fragment.schema)
    }

    fn whole(&self, fragment: Option<&Fragment>) -> Result<Merged, Errors<MergeError>> {
        fragment.cloned().into_iter().fold(self.merger.clone(), Merger::mount).build()
    }

    /// Returns what is around the fragment, if it is known to fit.
    fn fitting(&self, fragment: Option<&Fragment>) -> Option<&Around> {
        let around = self.around.as_ref()?;
        let Some(fragment) = fragment else { return Some(around) };
        let fits = self.is_plain(fragment)
            && self.merger.terms.limits.exceeded(&fragment.schema).is_none()
            && boundary::check(&self.merger.terms, std::slice::from_ref(fragment)).is_empty()
            && around.is_sound(&self.at, &fragment.schema);
        fits.then_some(around)
    }

    /// Returns true if the fragment goes into the open place on the terms of the stand-in.
    fn is_plain(&self, fragment: &Fragment) -> bool {
        let policy = fragment.policy;
        fragment.at == self.at
            && policy.sharing == Sharing::Exclusive
            && policy.required == RequiredPropagation::No
            && policy.default == MountDefault::None
    }
}

impl Around {
    fn new(merger: &Merger, at: &MountPath) -> Option<Self> {
        let stand_in = Fragment::new("", at.clone(), json!({"type": "object"}));
        let closed = merger.build().ok()?;
        let open = merger.clone().mount(stand_in).build().ok()?;
        let options = options(&open);
        // With a rule anywhere, the parts are not independent: the API server adds up the estimated cost of all rules of a CRD, and
        // bounds the sum.
        let silent = |merged: &Merged| {
            check_refusals(&merged.schema, &options).is_empty() && !mentions(&merged.schema, RULES)
        };
        // Both are handed out by `build`. At the root there would be nothing around the fragment.
        if at.names().is_empty() || !silent(&closed) || !silent(&open) {
            return None;
        }
        let parents = parents(&open.schema, at)?;
        Some(Self { open: open.schema, closed: closed.schema, parents, options })
    }

    /// Returns true if nothing at all is to be said about `schema` in the open place.
    fn is_sound(&self, at: &MountPath, schema: &Value) -> bool {
        let (node, diagnostics) = decode(schema, "", "");
        let below = |node, (parent, name)| {
            let mut above = Node::new(parent);
            above.properties.insert(name, node);
            above
        };
        // From the inside out. Alone the fragment would be judged as a root, which has to be an object.
        let way = self.parents.iter().zip(at.names().iter().map(String::as_str));
        diagnostics.is_empty() && !is_refused(&way.rev().fold(node, below), &self.options)
    }

    /// The whole, decoded, with `schema` in the open place; `None` if the place is not there.
    fn node<'a>(&'a self, at: &'a MountPath, schema: &'a Value) -> Option<(Node<'a>, Vec<Diagnostic>)> {
        let (mut root, _) = decode(&self.open, "", "");
        let (own, diagnostics) = decode(schema, "", "");
        let (last, way) = at.names().split_last()?;
        let above = way.iter().try_fold(&mut root, |node, name| node.properties.get_mut(name.as_str()))?;
        *above.properties.get_mut(last.as_str())? = own;
        Some((root, diagnostics))
    }
}

/// The nodes on the way to `at` without their properties, if they say nothing that concerns those below.
fn parents(schema: &Value, at: &MountPath) -> Option<Vec<Map<String, Value>>> {
    let mut node = schema;
    let mut parents = Vec::new();
    for name in at.names() {
        let keywords = node.as_object()?;
        let own = || keywords.iter().filter(|(keyword, _)| *keyword != "properties");
        if !own().all(|(keyword, value)| keyword == "description" || (keyword == "type" && value == "object"))
        {
            return None;
        }
        parents.push(own().map(|(keyword, value)| (keyword.clone(), value.clone())).collect());
        node = keywords.get("properties")?.get(name)?;
    }
    Some(parents)
}

/// The open place of a schema.
fn place<'s>(schema: &'s mut Value, at: &MountPath) -> Option<&'s mut Value> {
    at.names().iter().try_fold(schema, |schema, name| schema.get_mut("properties")?.get_mut(name))
}

/// Returns true if `keyword` stands anywhere in `value`.
fn mentions(value: &Value, keyword: &str) -> bool {
    match value {
        Value::Array(list) => list.iter().any(|value| mentions(value, keyword)),
        Value::Object(map) => map.contains_key(keyword) || map.values().any(|value| mentions(value, keyword)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(description: Value) -> Frame {
        let root = Fragment::new("host", MountPath::root(), description).sharing(Sharing::SharedStrict);
        Merger::new().mount(root).frame(MountPath::of(["spec", "own"]))
    }

    #[test]
    fn what_is_wrong_with_a_description_that_is_left_out_concerns_no_object() {
        let at = MountPath::of(["spec", "own"]);
        let frame = Merger::new().strip_descriptions(true).frame(at.clone());
        let fragment = Fragment::new("a", at, json!({"type": "object", "description": ["x"]}));
        assert!(frame.check(Some(&fragment)).is_ok());
        let verdict = frame.validate_object(Some(&fragment), &json!({"spec": {"own": {}}}));
        assert!(verdict.is_valid(), "{}", verdict.errors);
    }

    #[test]
    fn no_object_is_valid_under_a_fragment_that_does_not_fit() {
        let at = MountPath::of(["spec", "own"]);
        let wrong = [
            Fragment::new("a", at.clone(), json!({"type": "string"})),
            Fragment::new("a", at.clone(), json!({"type": "object", "properties": {"x": {"type": "array"}}})),
            Fragment::new("a", at.clone(), json!(3)).any_type(),
            Fragment::new("a", at, json!({"type": "nonsense"})).required(RequiredPropagation::Leaf),
        ];
        let frames = [Merger::new().frame(MountPath::of(["spec", "own"])), frame(json!({"type": "string"}))];
        for (frame, fragment) in frames.iter().flat_map(|frame| wrong.iter().map(move |wrong| (frame, wrong)))
        {
            let errors = frame.check(Some(fragment)).unwrap_err();
            for object in [json!({}), json!({"spec": {"own": "text"}}), json!({"spec": {"own": {}}})] {
                let verdict = frame.validate_object(Some(fragment), &object);
                assert!(!verdict.is_valid(), "{object} under {}", fragment.schema);
                assert_eq!(verdict.errors[0].detail, errors.to_string());
                assert_eq!(verdict.stored, object);
            }
        }
        let verdict = frame(json!({"type": "string"})).validate_object(None, &json!({}));
        assert!(!verdict.is_valid());
    }

    #[test]
    fn a_fragment_is_judged_alone_where_its_parents_are_plain_objects() {
        let plain = json!({"type": "object", "properties": {"spec": {"type": "object", "description": "x"}}});
        assert!(frame(plain).around.is_some());
        let keyword =
            json!({"type": "object", "properties": {"spec": {"type": "object", "maxProperties": 3}}});
        assert!(frame(keyword).around.is_none());
        let rules = json!({"type": "object", "properties": {"spec": {"type": "object"}, "b": {"type": "string",
            "x-kubernetes-validations": [{"rule": "self != 'x'"}]}}});
        assert!(frame(rules).around.is_none());
        assert!(frame(json!({"type": "string"})).around.is_none());
    }
}
