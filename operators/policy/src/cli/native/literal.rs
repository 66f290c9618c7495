//! Objects in the expressions of mutations, as maps: `Object{spec: Object.spec{?replicas: x}}` is
//! `{"spec": dyn({?"replicas": dyn(x)})}`.
//!
//! The values are `dyn`, because a map of Kubernetes' CEL holds values of one type. Names of fields that are not in the
//! schema of the object are not found.

/// The fields of a `JSONPatch`.
const PATCH: [&str; 4] = ["op", "path", "from", "value"];

/// The construct that a bracket belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// `Object{…}`; `true` while a name of a field is expected.
    Object {
        is_patch: bool,
        at_name: bool,
    },
    Other,
}

/// The expression with maps for objects.
///
/// # Errors
/// A type or a field that no mutation has.
pub(super) fn as_map(expression: &str) -> Result<String, String> {
    let mut writer = Writer { rest: expression, ..Writer::default() };
    while let Some(letter) = writer.rest.chars().next() {
        let word = writer.take_word(letter);
        if is_name(letter) {
            writer.name(word)?;
        } else {
            writer.mark(letter, word);
        }
    }
    Ok(writer.output)
}

#[derive(Default)]
struct Writer<'a> {
    rest: &'a str,
    output: String,
    open: Vec<Bracket>,
}

impl<'a> Writer<'a> {
    /// The next string, dotted name, comment or other letter.
    fn take_word(&mut self, letter: char) -> &'a str {
        let rest = self.rest;
        let end = |at: Option<usize>| at.unwrap_or(rest.len());
        let size = match letter {
            '"' | '\'' => string_size(rest),
            _ if is_name(letter) => end(rest.find(|letter| !is_name(letter) && letter != '.')),
            '/' if rest.starts_with("//") => end(rest.find('\n')),
            _ => letter.len_utf8(),
        };
        let (word, behind) = rest.split_at_checked(size).unwrap_or((rest, ""));
        self.rest = behind;
        word
    }

    fn name(&mut self, word: &str) -> Result<(), String> {
        if let Some(Bracket::Object { is_patch, at_name: at_name @ true }) = self.open.last_mut() {
            if *is_patch && !PATCH.contains(&word) {
                return Err(format!("undefined field '{word}' of JSONPatch: it has {}", PATCH.join(", ")));
            }
            *at_name = false;
            let colon = self.rest.trim_start().strip_prefix(':');
            self.rest = colon.ok_or_else(|| format!("expected : behind '{word}'"))?;
            self.output.push_str(&format!("\"{word}\": dyn("));
            return Ok(());
        }
        let object = self.rest.trim_start().strip_prefix('{').filter(|_| word != "in");
        match object {
            Some(fields) => {
                let is_patch = word == "JSONPatch";
                if !is_patch && word != "Object" && !word.starts_with("Object.") {
                    return Err(format!(
                        "undeclared reference to '{word}': the types of mutations are Object, those of its fields \
                         (Object.spec), and JSONPatch"
                    ));
                }
                self.rest = fields;
                self.open.push(Bracket::Object { is_patch, at_name: true });
                self.output.push('{');
            }
            // It gives a string, as `string` does.
            None if word == "jsonpatch.escapeKey" => self.output.push_str("string"),
            None => self.output.push_str(word),
        }
        Ok(())
    }

    fn mark(&mut self, letter: char, word: &str) {
        match letter {
            '(' | '[' | '{' => self.open.push(Bracket::Other),
            ')' | ']' | '}' => {
                if let Some(Bracket::Object { at_name: false, .. }) = self.open.pop() {
                    self.output.push(')');
                }
            }
            ',' => {
                if let Some(Bracket::Object { at_name: at_name @ false, .. }) = self.open.last_mut() {
                    *at_name = true;
                    self.output.push(')');
                }
            }
            _ => {}
        }
        self.output.push_str(word);
    }
}

/// Returns true if an expression refers to a variable, by a name that does not follow a dot. One that a macro declares
/// counts as well.
pub(super) fn refers_to(expression: &str, variable: &str) -> bool {
    let mut reader = Writer { rest: expression, ..Writer::default() };
    let mut follows_dot = false;
    while let Some(letter) = reader.rest.chars().next() {
        let word = reader.take_word(letter);
        if is_name(letter) && !follows_dot && word.split('.').next() == Some(variable) {
            return true;
        }
        follows_dot = letter == '.' || follows_dot && letter.is_whitespace();
    }
    false
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The size of the string that a text begins with, quotes included.
fn string_size(text: &str) -> usize {
    let quote = text.get(..1).unwrap_or_default();
    let long = quote.repeat(3);
    let mark = if text.starts_with(&long) { long.as_str() } else { quote };
    let mut at = mark.len();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(mark) {
            return at.saturating_add(mark.len());
        }
        let letters = if rest.starts_with('\\') { 2 } else { 1 };
        at = at.saturating_add(rest.chars().take(letters).map(char::len_utf8).sum::<usize>());
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_maps() {
        for (written, expected) in [
            ("Object{spec: Object.spec{replicas: 1}}", "{\"spec\": dyn( {\"replicas\": dyn( 1)})}"),
            ("Object{}", "{}"),
            (
                "Object{?a: optional.none(), b: [1, 2]}",
                "{?\"a\": dyn( optional.none()), \"b\": dyn( [1, 2])}",
            ),
            ("a in {\"}\": '{,'} ? Object {a: '\\''} : {}", "a in {\"}\": '{,'} ? {\"a\": dyn( '\\'')} : {}"),
            (
                "[JSONPatch{op: \"add\", path: \"/a/\" + jsonpatch.escapeKey(\"b/c\"), value: x},]",
                "[{\"op\": dyn( \"add\"), \"path\": dyn( \"/a/\" + string(\"b/c\")), \"value\": dyn( x)},]",
            ),
            ("object.spec.replicas > 1 // {", "object.spec.replicas > 1 // {"),
        ] {
            assert_eq!(as_map(written).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn references_are_names_and_no_fields_or_words() {
        for (expression, expected) in [
            ("params == null", true),
            ("a && params.data.max > 1", true),
            ("object.params == 1", false),
            ("object . params == 1", false),
            ("'params' in object", false),
            ("paramsOf.a // params", false),
        ] {
            assert_eq!(refers_to(expression, "params"), expected, "{expression}");
        }
    }

    #[test]
    fn other_types_and_fields_are_named() {
        for (written, expected) in [
            ("Pod{spec: 1}", "undeclared reference to 'Pod'"),
            ("JSONPatch{operation: 'add'}", "undefined field 'operation' of JSONPatch"),
            ("Object{spec = 1}", "expected : behind 'spec'"),
        ] {
            assert!(as_map(written).unwrap_err().contains(expected), "{written}");
        }
    }
}
