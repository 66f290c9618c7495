//! From a line, and perhaps a column, to the range in the file that is meant: an object from its first to its last line, a
//! word of code from its first to its last letter.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::cli::manifest::text_again;

/// The files that places are in, each read once.
#[derive(Debug, Default)]
pub(super) struct Files(BTreeMap<String, Vec<String>>);

impl Files {
    /// The SARIF region of a place. A file that cannot be read again (standard input) has the line alone.
    pub(super) fn region(&mut self, file: &str, line: u64, column: u64) -> Value {
        let first = line.max(1);
        let lines = self.0.entry(file.to_owned()).or_insert_with(|| read(file));
        let index = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut region = Map::from_iter([("startLine".to_owned(), Value::from(first))]);
        if column > 0 {
            region.insert("startColumn".to_owned(), column.into());
        }
        let end = match column {
            _ if line == 0 => None,
            0 => object_end(lines, index),
            column => word_end(lines, index, column),
        };
        if let Some((line, column)) = end {
            region.insert("endLine".to_owned(), line.into());
            region.insert("endColumn".to_owned(), column.into());
        }
        Value::Object(region)
    }
}

fn read(file: &str) -> Vec<String> {
    text_again(Path::new(file)).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Behind the last letter of the word that begins at a column; behind the letter there, where that is none of a word.
fn word_end(lines: &[String], index: usize, column: u64) -> Option<(usize, u64)> {
    let skipped = usize::try_from(column.saturating_sub(1)).ok()?;
    let rest = lines.get(index)?.chars().skip(skipped);
    let letters = rest.take_while(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.')).count();
    let letters = u64::try_from(letters.max(1)).ok()?;
    Some((index.saturating_add(1), column.saturating_add(letters)))
}

/// Behind the last letter of the object that begins in a line: a document up to the next `---`, an item of a list up to a line
/// that is indented no deeper, JSON and its like up to the bracket that closes it.
fn object_end(lines: &[String], index: usize) -> Option<(usize, u64)> {
    let first = lines.get(index)?;
    let begin = first.trim_start();
    if begin.starts_with(['{', '[']) {
        return bracket_end(lines, index);
    }
    let is_item = begin.starts_with("- ");
    let is_over = |line: &str| {
        let filled = !line.trim().is_empty();
        filled && (line.starts_with("---") || is_item && indent(line) <= indent(first))
    };
    let mut behind = lines.iter().enumerate().skip(index.saturating_add(1));
    let next = behind.find(|(_, line)| is_over(line)).map_or(lines.len(), |(next, _)| next);
    let is_content = |line: &String| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let last = lines.iter().take(next).rposition(is_content);
    let end = last.unwrap_or(index).max(index);
    let width = lines.get(end)?.trim_end().chars().count();
    Some((end.saturating_add(1), u64::try_from(width).ok()?.saturating_add(1)))
}

/// Behind the bracket that closes the first one of a line. A quote opens a string where a value may begin.
fn bracket_end(lines: &[String], index: usize) -> Option<(usize, u64)> {
    let (mut depth, mut quote) = (0_usize, None);
    for (number, line) in lines.iter().enumerate().skip(index) {
        let (mut previous, mut escaped) = (' ', false);
        for (column, letter) in line.chars().enumerate() {
            match letter {
                _ if escaped => escaped = false,
                '\\' if quote == Some('"') => escaped = true,
                _ if quote == Some(letter) => quote = None,
                _ if quote.is_some() => {}
                '"' | '\'' if !previous.is_alphanumeric() => quote = Some(letter),
                '{' | '[' => depth = depth.saturating_add(1),
                '}' | ']' if depth <= 1 => {
                    let behind = u64::try_from(column).ok()?.saturating_add(2);
                    return Some((number.saturating_add(1), behind));
                }
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            previous = letter;
        }
    }
    None
}

fn indent(line: &str) -> usize {
    line.len().saturating_sub(line.trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# two\nkind: A\nspec:\n  é: |\n    x y.z(1)\n\n---\nkind: List\nitems:\n- kind: B\n  a: 1\n- kind: C\n{\n  \"a\": {}\n}\n{\"b\": 1}\n{a: [\"}\\\"\"],\n b: it's, c: '}',\n d: {e: [1]}} # f\n";

    fn region(line: u64, column: u64) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        std::fs::write(&file, TEXT).unwrap();
        let region = Files::default().region(&file.display().to_string(), line, column);
        let fields = ["startLine", "startColumn", "endLine", "endColumn"];
        fields.iter().map(|field| region[*field].as_u64().unwrap_or(0)).collect()
    }

    #[test]
    fn objects_end_with_their_last_line() {
        assert_eq!(region(2, 0), [2, 0, 5, 13]);
        assert_eq!(region(10, 0), [10, 0, 11, 7]);
        assert_eq!(region(13, 0), [13, 0, 15, 2]);
        assert_eq!(region(16, 0), [16, 0, 16, 9]);
        assert_eq!(region(17, 0), [17, 0, 19, 14]);
    }

    #[test]
    fn words_end_with_their_last_letter() {
        assert_eq!(region(5, 7), [5, 7, 5, 10]);
        assert_eq!(region(5, 10), [5, 10, 5, 11]);
        assert_eq!(region(4, 3), [4, 3, 4, 4]);
    }

    #[test]
    fn what_cannot_be_read_has_the_line_alone() {
        let region = Files::default().region("<stdin>", 3, 0);
        assert_eq!(region, serde_json::json!({"startLine": 3}));
    }
}
