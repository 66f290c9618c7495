//! Two lists of globs, as both targets have them: what is selected, and what is taken out again.

use constraint_framework::api::{FieldError, FieldErrors};
use constraint_framework::review::Review;
use constraint_framework::target::{MatchError, Matcher, Route};
use regex::Regex;
use serde_json::{Map, Value, json};

/// The names of a target's lists, and what they hold.
pub(super) struct Form {
    /// The attribute of a resource that has its path.
    pub(super) attribute: &'static str,
    /// The lists; an older name may stand for the newer one, and not beside it.
    pub(super) included: &'static [&'static str],
    pub(super) excluded: &'static [&'static str],
    pub(super) separator: char,
    /// The test for such a part of a path, between two separators, after another one; a misspelt one would select
    /// nothing.
    pub(super) is_part: fn(Option<&str>, &str) -> bool,
}

/// Selection of a constraint, by path.
#[derive(Debug)]
pub(super) struct Selection {
    attribute: &'static str,
    included: Vec<Regex>,
    excluded: Vec<Regex>,
}

// === impl Form ===

impl Form {
    /// The schema of a match block.
    pub(super) fn match_schema(&self) -> Value {
        let globs = json!({"type": "array", "items": {"type": "string"}});
        let names = self.included.iter().chain(self.excluded);
        let lists: Map<_, _> = names.map(|name| ((*name).to_owned(), globs.clone())).collect();
        json!({"type": "object", "properties": lists})
    }

    /// The matcher of a match block.
    pub(super) fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        Selection::new(spec, self).map(|selection| Box::new(selection) as Box<dyn Matcher>)
    }

    /// The globs of a list, by whichever of its names; `None` where it is not there.
    fn list(&self, spec: Option<&Value>, names: &[&str], errors: &mut Vec<FieldError>) -> Option<Vec<Regex>> {
        let written = |name: &&str| spec?.get(*name).filter(|list| !list.is_null());
        let mut written = names.iter().filter_map(|name| Some((*name, written(name)?)));
        let (name, list) = written.next()?;
        if let Some((older, _)) = written.next() {
            errors.push(FieldError::new(format!("/spec/match/{older}"), format!("write {name} alone")));
        }
        let mut globs = Vec::new();
        for (position, glob) in list.as_array().into_iter().flatten().enumerate() {
            match glob.as_str().ok_or_else(|| "must be a string".to_owned()).and_then(|glob| self.glob(glob))
            {
                Ok(glob) => globs.push(glob),
                Err(rule) => errors.push(FieldError::new(format!("/spec/match/{name}/{position}"), rule)),
            }
        }
        if !list.is_array() {
            errors.push(FieldError::new(format!("/spec/match/{name}"), "must be a list of strings"));
        }
        Some(globs)
    }

    fn glob(&self, glob: &str) -> Result<Regex, String> {
        let mut before = None;
        for part in glob.split(self.separator) {
            if !(self.is_part)(before, part) {
                return Err(format!("{part:?} is not a part of a path here"));
            }
            before = Some(part);
        }
        regex(glob, self.separator)
    }
}

// === impl Selection ===

impl Selection {
    /// Compiles the lists of a match block; without the first list everything is selected.
    fn new(spec: Option<&Value>, form: &Form) -> Result<Self, FieldErrors> {
        let mut errors = Vec::new();
        let included = form.list(spec, form.included, &mut errors);
        let excluded = form.list(spec, form.excluded, &mut errors);
        FieldErrors::check(errors)?;
        let everything = || regex("**", form.separator).into_iter().collect();
        let (included, excluded) = (included.unwrap_or_else(everything), excluded.unwrap_or_default());
        Ok(Self { attribute: form.attribute, included, excluded })
    }

    /// An exclusion wins.
    fn selects(&self, path: &str) -> bool {
        let any = |globs: &[Regex]| globs.iter().any(|glob| glob.is_match(path));
        any(&self.included) && !any(&self.excluded)
    }
}

impl Matcher for Selection {
    /// These resources have types, and no groups and kinds.
    fn route(&self) -> Route {
        Route::everywhere()
    }

    fn matches(&self, review: &Review) -> Result<bool, MatchError> {
        let path = review.attributes().get(self.attribute).and_then(Value::as_str);
        Ok(self.selects(path.ok_or(MatchError::NoObject)?))
    }
}

/// `*` stands for a part between two separators or of one, `**` for any text, `?` for a character, `[ab]` for one of these.
///
/// ```text
/// organizations/1/**   matches organizations/1/folders/2/projects/3
/// organizations/*      does not
/// ```
fn regex(glob: &str, separator: char) -> Result<Regex, String> {
    let part = format!("[^{}]", regex::escape(&separator.to_string()));
    let mut pattern = String::from("^");
    let mut rest = glob.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '*' if rest.next_if_eq(&'*').is_some() => pattern.push_str("(?s:.*)"),
            '*' => pattern.push_str(&format!("{part}*")),
            '?' => pattern.push_str(&part),
            '[' => pattern.push_str(if rest.next_if_eq(&'!').is_some() { "[^" } else { "[" }),
            ']' | '-' => pattern.push(next),
            '{' | '}' | '\\' => return Err(format!("{next} is not supported: write *, **, ? and [ab]")),
            _ => pattern.push_str(&regex::escape(&next.to_string())),
        }
    }
    pattern.push('$');
    Regex::new(&pattern).map_err(|error| format!("is not a glob: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form = Form {
        attribute: "path",
        included: &["ancestries", "target"],
        excluded: &["excludedAncestries", "exclude"],
        separator: '/',
        is_part: |_, part| part != "organisations",
    };

    fn selects(spec: Value, path: &str) -> bool {
        Selection::new(Some(&spec), &FORM).unwrap().selects(path)
    }

    #[test]
    fn a_star_stays_between_separators_and_two_do_not() {
        assert!(selects(json!({}), "organizations/1/projects/2"));
        assert!(selects(
            json!({"ancestries": ["organizations/1/**"]}),
            "organizations/1/folders/2/projects/3"
        ));
        assert!(!selects(json!({"ancestries": ["organizations/*"]}), "organizations/1/projects/2"));
        assert!(selects(json!({"target": ["organizations/*/projects/?"]}), "organizations/1/projects/2"));
        assert!(!selects(json!({"ancestries": []}), "organizations/1"), "an empty list selects nothing");
        let excluded = json!({"ancestries": ["**"], "excludedAncestries": ["**/folders/2/**"]});
        assert!(!selects(excluded.clone(), "organizations/1/folders/2/projects/3"));
        assert!(selects(excluded, "organizations/1/folders/4/projects/3"));
    }

    #[test]
    fn all_mistakes_are_reported() {
        let spec = json!({"ancestries": ["{a,b}", 1, "organisations/1"], "target": ["**"], "exclude": "x"});
        let errors = Selection::new(Some(&spec), &FORM).unwrap_err().to_string();
        for place in [
            "/spec/match/ancestries/0",
            "/spec/match/ancestries/1",
            "/spec/match/ancestries/2",
            "/spec/match/target",
            "/spec/match/exclude",
        ] {
            assert!(errors.contains(place), "{place} in {errors}");
        }
    }
}
