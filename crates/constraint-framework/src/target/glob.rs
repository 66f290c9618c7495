//! The globs of match blocks: a `*` at the start, at the end, or both; nothing else is special.

/// A compiled glob, with `*` at the start, at the end, or both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Glob {
    /// The text itself: `default`.
    Exact(String),
    /// Text with this prefix: `kube-*`.
    Prefix(String),
    /// Text with this suffix: `*-system`.
    Suffix(String),
    /// Text that contains this: `*test*`.
    Contains(String),
}

impl Glob {
    /// Compiles a pattern. Every pattern is valid: a `*` elsewhere stands for itself.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(rest), Some(_)) => Self::Contains(rest.strip_suffix('*').unwrap_or(rest).to_owned()),
            (Some(suffix), None) => Self::Suffix(suffix.to_owned()),
            (None, Some(prefix)) => Self::Prefix(prefix.to_owned()),
            (None, None) => Self::Exact(pattern.to_owned()),
        }
    }

    /// Returns true if the pattern matches the text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => text == exact,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Suffix(suffix) => text.ends_with(suffix.as_str()),
            Self::Contains(part) => text.contains(part.as_str()),
        }
    }

    /// Returns true if a name that the API server will generate from `generate_name` must match. Only what is certain
    /// before the random suffix exists counts: a prefix, or a part that is already there.
    #[must_use]
    pub fn matches_generate_name(&self, generate_name: &str) -> bool {
        match self {
            Self::Exact(_) | Self::Suffix(_) => false,
            Self::Prefix(_) | Self::Contains(_) => self.matches(generate_name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        for text in matching {
            assert!(Glob::new(pattern).matches(text), "{pattern} should match {text}");
        }
        for text in other {
            assert!(!Glob::new(pattern).matches(text), "{pattern} should not match {text}");
        }
    }

    #[test]
    fn a_star_stands_at_either_end() {
        check("kube-*", &["kube-", "kube-system"], &["my-kube-", "kube"]);
        check("*-system", &["kube-system"], &["system", "kube-systems"]);
        check("*mid*", &["mid", "amidst"], &["mi"]);
        check("*", &["", "anything"], &[]);
        check("**", &["", "anything"], &[]);
        check("exact", &["exact"], &["exactly", ""]);
    }

    #[test]
    fn a_generated_name_counts_only_where_it_is_certain() {
        for (pattern, expected) in
            [("web-*", true), ("*eb*", true), ("*web-", false), ("web-", false), ("*", true)]
        {
            assert_eq!(Glob::new(pattern).matches_generate_name("web-"), expected, "{pattern}");
        }
    }
}
