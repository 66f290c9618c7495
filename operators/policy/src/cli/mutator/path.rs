//! The path language of mutators: `spec.containers[name: *].image`.
//!
//! Fields are separated by dots; letters, digits, `-` and `_` need no quotes, anything else stands in single or double
//! quotes with `\` before a quote. `[key: value]` selects an item of a list by one of its fields; the value is a string, a
//! whole number or `*` for every item.

use serde_json::Value;

/// The steps of a path.
pub(super) type Path = Vec<Node>;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A field of a mapping.
    Object(String),
    /// Items of a list; `None` stands for every item.
    List { key: String, value: Option<Value> },
}

/// Parses a path.
///
/// # Errors
/// The first place at which it is not one.
pub(super) fn parse(text: &str) -> Result<Path, String> {
    let mut reader = Reader { rest: text.trim() };
    let mut nodes = Vec::new();
    loop {
        nodes.push(Node::Object(reader.name("a field name")?));
        if reader.take('[') {
            nodes.push(reader.list()?);
        }
        if reader.rest.is_empty() {
            return Ok(nodes);
        }
        reader.expect('.')?;
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn list(&mut self) -> Result<Node, String> {
        let key = self.name("the key of a list")?;
        self.expect(':')?;
        let value = if self.take('*') { None } else { Some(self.value()?) };
        self.expect(']')?;
        Ok(Node::List { key, value })
    }

    fn value(&mut self) -> Result<Value, String> {
        let is_quoted = self.rest.trim_start().starts_with(['\'', '"']);
        let name = self.name("the value of a key, or *")?;
        let number = name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.parse::<i64>());
        match number.filter(|_| !is_quoted) {
            Some(Ok(number)) => Ok(number.into()),
            Some(Err(_)) => Err(format!("the number {name} is too large")),
            None => Ok(name.into()),
        }
    }

    fn name(&mut self, what: &str) -> Result<String, String> {
        self.rest = self.rest.trim_start();
        if let Some(quote) = self.rest.chars().next().filter(|first| ['\'', '"'].contains(first)) {
            return self.quoted(quote);
        }
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        if name.is_empty() {
            return Err(format!("expected {what}, found {}", self.found()));
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut name = String::new();
        let mut letters = self.rest.chars();
        // The opening quote.
        letters.next();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => name.extend(letters.next()),
                _ if letter == quote => {
                    self.rest = letters.as_str();
                    return Ok(name);
                }
                _ => name.push(letter),
            }
        }
        Err(format!("a quote {quote} is not closed"))
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(format!("expected {wanted}, found {}", self.found())) }
    }

    fn found(&self) -> String {
        match self.rest.trim_start().chars().next() {
            Some(letter) => format!("{letter}"),
            None => "the end".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_read_step_by_step() {
        let object = |name: &str| Node::Object(name.to_owned());
        let list = |key: &str, value| Node::List { key: key.to_owned(), value };
        assert_eq!(
            parse("spec.containers[name: *].\"a/b\".'c\\'d'").unwrap(),
            [object("spec"), object("containers"), list("name", None), object("a/b"), object("c'd")]
        );
        assert_eq!(parse("a[b: 1]").unwrap(), [object("a"), list("b", Some(json!(1)))]);
        assert_eq!(parse("a[b:'1']").unwrap(), [object("a"), list("b", Some(json!("1")))]);
    }

    #[test]
    fn what_is_no_path_says_where() {
        for text in
            ["", ".", "a.", "a..b", "a[", "a[b]", "a[b:", "a[b: c", "a[b: c]d", "a b", "\"a", "a[b: c][d: e]"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("a[b: c]d").unwrap_err(), "expected ., found d");
    }
}
