//! Parts of the inventory merged to one value.

use std::collections::BTreeMap;
use std::sync::Arc;

use rego_compat::Value as RegoValue;

use super::object::UnreadableObjectError;

/// Values with their paths. A value that is taken whole has everything below it, so that parts there are ignored.
#[derive(Debug, Default)]
pub(super) struct Parts {
    whole: Option<RegoValue>,
    below: BTreeMap<Arc<str>, Parts>,
}

impl Parts {
    pub(super) fn put(&mut self, path: &[Arc<str>], part: RegoValue) {
        match path.split_first() {
            None => self.whole = Some(part),
            Some((head, rest)) => self.below.entry(head.clone()).or_default().put(rest, part),
        }
    }

    /// Returns the value of all parts, over what is there already.
    ///
    /// # Errors
    /// Something that holds no other things is there, and a part is to be put below it.
    pub(super) fn over(self, base: Option<&RegoValue>) -> Result<RegoValue, UnreadableObjectError> {
        if let Some(whole) = self.whole {
            return Ok(whole);
        }
        // A clone shares everything, and writing to it copies one level: the rest stays shared with the view.
        let mut merged =
            base.cloned().unwrap_or_else(|| RegoValue::from(BTreeMap::<RegoValue, RegoValue>::new()));
        for (name, parts) in self.below {
            let key = RegoValue::from(&*name);
            let below = base.and_then(|base| base.as_object().ok()?.get(&key));
            let branch = parts.over(below).map_err(|error| error.below(std::slice::from_ref(&name)))?;
            let pairs = merged.as_object_mut().map_err(|_| UnreadableObjectError::inconsistent(&[]))?;
            pairs.insert(key, branch);
        }
        Ok(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_below_something_that_is_no_level_is_an_error_with_its_place() {
        let mut parts = Parts::default();
        parts.put(&["a".into(), "b".into(), "c".into()], RegoValue::from("part"));
        let base = RegoValue::from_json_str("{\"a\": {\"b\": [1], \"d\": 2}}").unwrap();
        let error = parts.over(Some(&base)).unwrap_err();
        assert_eq!(error.path().join("/"), "a/b");
        assert!(error.to_string().contains("internal error"), "{error}");
    }

    #[test]
    fn parts_come_beside_what_is_there_and_over_it() {
        let mut parts = Parts::default();
        parts.put(&["a".into(), "b".into()], RegoValue::from("part"));
        parts.put(&["e".into()], RegoValue::from("new"));
        let base = RegoValue::from_json_str("{\"a\": {\"b\": [1], \"d\": 2}}").unwrap();
        let merged = parts.over(Some(&base)).unwrap();
        assert_eq!(
            merged,
            RegoValue::from_json_str("{\"a\": {\"b\": \"part\", \"d\": 2}, \"e\": \"new\"}").unwrap()
        );
    }
}
