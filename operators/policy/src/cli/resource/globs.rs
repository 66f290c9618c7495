//! Two lists of globs, as both targets have them: what is selected, and what is taken out again.
//!
//! They are translated here and not by the translator of Rego's `glob.match`: that one has `{a,b}`, which is refused here, and
//! neither the indexes of Terraform nor a message about what is wrong, so that one translator for both would be more code.

use constraint_framework::api::{FieldError, FieldErrors};
use constraint_framework::review::Review;
use constraint_framework::target::{MatchCriteria, MatchError, Matcher};
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
    fn criteria(&self) -> MatchCriteria {
        MatchCriteria::everywhere()
    }

    fn matches(&self, review: &Review) -> Result<bool, MatchError> {
        let path = review.attributes().get(self.attribute).and_then(Value::as_str);
        Ok(self.selects(path.ok_or(MatchError::NoObject)?))
    }
}

/// `*` stands for a part between two separators or of one, `**` for any text, `?` for a character, `[ab]` for one of these, `[!ab]`
/// for any other; what is behind `\` stands for itself.
///
/// ```text
/// organizations/1/**   matches organizations/1/folders/2/projects/3
/// organizations/*      does not
/// module.a["x"].**     matches module.a["x"].b, which Terraform writes, and module.ax.b
/// ```
fn regex(glob: &str, separator: char) -> Result<Regex, String> {
    let part = format!("[^{}]", regex::escape(&separator.to_string()));
    let mut pattern = String::from("^");
    let mut rest = glob.chars();
    while let Some(next) = rest.next() {
        let behind = rest.as_str();
        match next {
            '*' if behind.starts_with('*') => {
                rest.next();
                pattern.push_str("(?s:.*)");
            }
            '*' => pattern.push_str(&format!("{part}*")),
            '?' => pattern.push_str(&part),
            '[' => {
                let (choice, length) = brackets(behind)?;
                pattern.push_str(&choice);
                rest = behind.get(length..).unwrap_or_default().chars();
            }
            '\\' => {
                let literal = rest.next().ok_or("\\ stands before nothing")?;
                pattern.push_str(&regex::escape(&literal.to_string()));
            }
            '{' | '}' => {
                return Err(format!("{next} is not supported: write *, **, ? and [ab], or \\{next}"));
            }
            _ => pattern.push_str(&regex::escape(&next.to_string())),
        }
    }
    pattern.push('$');
    Regex::new(&pattern).map_err(|error| format!("is not a glob: {error}"))
}

/// The pattern of what is behind `[`, and how long that is.
///
/// An index of Terraform, `["x"]` or `[0]`, is a set of characters to Config Validator. It stands for both here: nothing that is selected
/// there is missed.
fn brackets(glob: &str) -> Result<(String, usize), String> {
    let key = glob
        .strip_prefix('"')
        .and_then(|behind| behind.find("\"]"))
        .and_then(|end| glob.get(..end.saturating_add(2)));
    let (body, length) = match key {
        Some(key) => (key.to_owned(), key.len().saturating_add(1)),
        None => until_bracket(glob)?,
    };
    let is_index = key.is_some() || !body.is_empty() && body.bytes().all(|digit| digit.is_ascii_digit());
    let (not, members) = body.strip_prefix('!').map_or(("", body.as_str()), |members| ("^", members));
    let letters: Vec<_> = members.chars().collect();
    let class = match letters.as_slice() {
        [] => return Err("[] has no character: write [ab], or \\[\\]".to_owned()),
        [from, '-', to] => format!("{}-{}", regex::escape(&from.to_string()), regex::escape(&to.to_string())),
        [_, '-', ..] => return Err(format!("[{body}] is not a glob: write one range in brackets")),
        _ => regex::escape(members),
    };
    let index = if is_index { format!("|{}", regex::escape(&format!("[{body}]"))) } else { String::new() };
    Ok((format!("(?:[{not}{class}]{index})"), length))
}

/// The characters up to `]`, without the `\` before some of them, and how long they are with it.
fn until_bracket(glob: &str) -> Result<(String, usize), String> {
    let mut body = String::new();
    let mut rest = glob.chars();
    while let Some(next) = rest.next() {
        match next {
            ']' => return Ok((body, glob.len().saturating_sub(rest.as_str().len()))),
            '\\' => body.extend(rest.next()),
            _ => body.push(next),
        }
    }
    Err("[ is not closed: write [ab], or \\[".to_owned())
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

    /// The answers are those of gobwas/glob, with which Config Validator reads globs, but for the rows with `indexed`.
    #[test]
    fn brackets_are_sets_of_characters_and_indexes_of_terraform() {
        let matches = |glob: &str, path: &str| regex(glob, '.').unwrap().is_match(path);
        for (glob, path, expected) in [
            ("a.[bc]", "a.b", true),
            ("a.[bc]", "a.d", false),
            ("a.[!bc]", "a.d", true),
            ("a.[!bc]", "a.b", false),
            ("a.[b-d]", "a.c", true),
            ("a.[!b-d]", "a.c", false),
            ("a.[bc-e]", "a.-", true),
            ("a.[bc-e]", "a.d", false),
            ("a.[.]", "a..", true),
            ("a.[^b]", "a.^", true),
            (r"module.a\[*\].b", "module.a[0].b", true),
            (r#"module.a\["x"\].b"#, r#"module.a["x"].b"#, true),
            (r"a.\*", "a.*", true),
            (r"a.\*", "a.b", false),
            (r"a.\{b\}", "a.{b}", true),
            (r#"module.a["x"].**"#, "module.ax.b", true),
            (r#"module.a["x"].**"#, r#"module.a["y"].b"#, false),
            ("web.a[12]", "web.a2", true),
            ("web.a[12]", "web.a[1]", false),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} {path}");
        }
        for (glob, indexed) in [
            (r#"module.a["x"].**"#, r#"module.a["x"].web.b"#),
            (r#"module.a["x"].web.b"#, r#"module.a["x"].web.b"#),
            (r#"web.a["x.y]*"]"#, r#"web.a["x.y]*"]"#),
            ("web.a[12]", "web.a[12]"),
            (r#"module.*["x"].web.b[0]"#, r#"module.a["x"].web.b[0]"#),
        ] {
            assert!(matches(glob, indexed), "{glob} {indexed}");
        }
        for glob in ["a[", "a[]", "a[b-dx]", r"a\", "a{b,c}"] {
            assert!(regex(glob, '.').is_err(), "{glob}");
        }
    }

    #[test]
    fn all_errors_are_reported() {
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
