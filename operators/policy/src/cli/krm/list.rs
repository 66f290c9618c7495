//! The ResourceList: its items in, and the same text out with results added.

use serde_json::{Value, json};

use go_compat::sigs_yaml;

use super::result::FunctionResult;

const API_VERSIONS: [&str; 3] =
    ["config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"];

/// A list that was read, and the text it was read from.
pub(super) struct ResourceList<'a> {
    text: &'a str,
    value: Value,
    item_lines: Vec<u64>,
}

impl<'a> ResourceList<'a> {
    /// Reads the only document of a text.
    ///
    /// # Errors
    /// Its actual kind, which is not a list.
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        let mut documents = sigs_yaml::documents(text).map_err(|error| error.to_string())?;
        documents.retain(|document| !document.value.is_null());
        let (Some(document), true) = (documents.pop(), documents.is_empty()) else {
            return Err("it must be one document".to_owned());
        };
        let field = |name: &str| document.value.get(name).and_then(Value::as_str).unwrap_or_default();
        if field("kind") != "ResourceList" || !API_VERSIONS.contains(&field("apiVersion")) {
            let [version, kind] = ["apiVersion", "kind"].map(field);
            return Err(format!(
                "it must be a ResourceList of {}, not {kind:?} of {version:?}",
                API_VERSIONS[0]
            ));
        }
        match document.value.get("items") {
            None | Some(Value::Null | Value::Array(_)) => {
                Ok(Self { text, value: document.value, item_lines: document.item_lines })
            }
            Some(_) => Err("its items must be a list".to_owned()),
        }
    }

    /// The items, with the lines they start at.
    pub(super) fn items(&self) -> impl Iterator<Item = (u64, &Value)> {
        let items = self.value.get("items").and_then(Value::as_array).into_iter().flatten();
        self.item_lines.iter().copied().chain(std::iter::repeat(1)).zip(items)
    }

    /// The list with these results in place of those it came with.
    pub(super) fn with_results(&self, results: &[FunctionResult]) -> String {
        let mut value = self.value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("results");
            if !results.is_empty() {
                fields.insert("results".to_owned(), results.iter().map(FunctionResult::to_value).collect());
            }
        }
        self.amended(results, &value).unwrap_or_else(|| {
            let text = value.to_string();
            sigs_yaml::block(&text).unwrap_or(text)
        })
    }

    /// The text as it came with the results behind it, if that reads as what was meant: not where the list is written
    /// in braces, ends in a marker, or came with results.
    fn amended(&self, results: &[FunctionResult], meant: &Value) -> Option<String> {
        let mut amended = self.text.to_owned();
        if !results.is_empty() {
            let results: Vec<Value> = results.iter().map(FunctionResult::to_value).collect();
            if !amended.ends_with('\n') {
                amended.push('\n');
            }
            amended.push_str(&sigs_yaml::block(&json!({ "results": results }).to_string()).ok()?);
        }
        let mut read = sigs_yaml::documents(&amended).ok()?;
        read.retain(|document| !document.value.is_null());
        let [document] = read.as_slice() else {
            return None;
        };
        (document.value == *meant && document.duplicate.is_none()).then_some(amended)
    }
}
