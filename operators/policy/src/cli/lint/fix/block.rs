//! Block scalars of a YAML file, replaced where they stand.
//!
//! ```yaml
//!   rego: |                       code:
//!     package a                   - engine: Rego
//!     violation[x] { x := 1 }       source:
//!                                     version: v1
//!                          =>         rego: |
//!                                       package a
//!                                       violation contains x if { x := 1 }
//! ```

use std::ops::Range;

use constraint_framework::api::RegoSource;

/// The place of a target's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In the fields `rego` and `libs` of the target.
    Legacy,
    /// In this entry of `code`.
    Code(usize),
}

/// A block scalar: the line with its `|`, and the lines of its text.
#[derive(Clone, Debug)]
struct Block {
    header: usize,
    content: Range<usize>,
    /// Spaces before each line of the text.
    indent: usize,
}

/// The text with the code of the template that begins at a line replaced.
///
/// # Errors
/// A form of YAML in which code is not found: quoted and folded texts, JSON, anchors.
pub(super) fn replace(
    text: &str,
    from: u64,
    form: Form,
    old: &RegoSource,
    new: &RegoSource,
) -> Result<String, String> {
    if text.contains('\r') {
        return Err("the file has line ends of Windows: convert it first".to_owned());
    }
    let lines: Vec<&str> = text.lines().collect();
    let first = usize::try_from(from).unwrap_or(usize::MAX).saturating_sub(1);
    let behind = lines.iter().skip(first.saturating_add(1)).position(|line| line.starts_with("---"));
    let end = behind.map_or(lines.len(), |count| first.saturating_add(1).saturating_add(count));
    let document = Document { lines: &lines, range: first..end };
    let rego =
        document.block("rego:", &old.rego).ok_or("its Rego is not a block of lines behind `rego: |`")?;
    let libs = old.libs.iter().map(|lib| document.block("", lib));
    let libs: Option<Vec<_>> = libs.collect();
    let libs = libs.ok_or("a text of libs is not a block of lines behind `- |`")?;
    let mut edited: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut blocks: Vec<_> = std::iter::once((&rego, &new.rego)).chain(libs.iter().zip(&new.libs)).collect();
    blocks.sort_by_key(|(block, _)| block.header);
    let column = document.key_column(rego.header);
    let region = match form {
        Form::Legacy => Some(document.region(&rego, &libs)?),
        Form::Code(_) => None,
    };
    // From the last one, so that what is before stays where it is.
    let mut grown = 0_usize;
    for (block, code) in blocks.iter().rev() {
        let text = document.text_of(block, code);
        grown = grown.saturating_add(text.len()).saturating_sub(block.content.len());
        edited.splice(block.content.clone(), text);
    }
    match region {
        Some(region) => wrap(&mut edited, region.start..region.end.saturating_add(grown), column),
        None => set_version(&mut edited, rego.header, column),
    }
    let mut result = edited.join("\n");
    if text.ends_with('\n') {
        result.push('\n');
    }
    Ok(result)
}

struct Document<'a> {
    lines: &'a [&'a str],
    range: Range<usize>,
}

impl Document<'_> {
    fn line(&self, index: usize) -> &str {
        self.lines.get(index).copied().unwrap_or_default()
    }

    /// The block with that text, behind a key or, without one, as an item of a list.
    fn block(&self, key: &str, text: &str) -> Option<Block> {
        let headers = self.range.clone().filter(|index| is_header(self.line(*index), key));
        headers.map(|header| self.at(header)).find(|block| {
            let own =
                block.content.clone().map(|index| self.line(index).get(block.indent..).unwrap_or_default());
            own.collect::<Vec<_>>().join("\n").trim_end() == text.trim_end()
        })
    }

    fn at(&self, header: usize) -> Block {
        let start = header.saturating_add(1);
        let filled = |index: &usize| !self.line(*index).trim().is_empty();
        let indent = (start..self.range.end).find(filled).map_or(0, |index| depth(self.line(index)));
        let is_outside = |index: &usize| filled(index) && depth(self.line(*index)) < indent;
        let end = (start..self.range.end).find(is_outside).unwrap_or(self.range.end);
        // Blank lines at the end stay as they are.
        let end = (start..end).rfind(filled).map_or(start, |last| last.saturating_add(1));
        Block { header, content: start..end, indent }
    }

    fn text_of(&self, block: &Block, code: &str) -> Vec<String> {
        let indent = " ".repeat(block.indent);
        let line = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}{line}") };
        code.trim_end().lines().map(line).collect()
    }

    /// The column of the key in a line, behind the `- ` of a list.
    fn key_column(&self, index: usize) -> usize {
        let line = self.line(index);
        line.len().saturating_sub(line.trim_start_matches([' ', '-']).len())
    }

    /// The lines of `rego` and `libs`, which must stand next to each other.
    fn region(&self, rego: &Block, libs: &[Block]) -> Result<Range<usize>, String> {
        let lines = rego.header..rego.content.end;
        let mut parts = Vec::from([lines]);
        if let (Some(first), Some(last)) = (libs.first(), libs.last()) {
            let is_key =
                |index: &usize| self.line(*index).trim_start_matches([' ', '-']).starts_with("libs:");
            let key = (self.range.start..first.header).rfind(is_key).ok_or("libs is not a list of blocks")?;
            parts.push(key..last.content.end);
        }
        parts.sort_by_key(|part| part.start);
        let blank = |from: usize, to: usize| (from..to).all(|index| self.line(index).trim().is_empty());
        let apart = parts.windows(2).any(|pair| match pair {
            [one, other] => !blank(one.end, other.start),
            _ => false,
        });
        if apart {
            return Err("rego and libs do not stand next to each other".to_owned());
        }
        let start = parts.first().map_or(0, |part| part.start);
        Ok(start..parts.last().map_or(start, |part| part.end))
    }
}

/// Puts lines of a target below an entry of `code`.
fn wrap(lines: &mut Vec<String>, region: Range<usize>, column: usize) {
    let own = " ".repeat(column);
    let before = lines.get(region.start).and_then(|line| line.get(..column)).unwrap_or(&own).to_owned();
    for (position, line) in lines.iter_mut().enumerate().filter(|(index, _)| region.contains(index)) {
        if position == region.start {
            *line = format!("{own}{}", line.get(column..).unwrap_or_default());
        }
        if !line.is_empty() {
            line.insert_str(0, "    ");
        }
    }
    let head = [
        format!("{before}code:"),
        format!("{own}- engine: Rego"),
        format!("{own}  source:"),
        format!("{own}    version: v1"),
    ];
    lines.splice(region.start..region.start, head);
}

/// Sets `version: v1` beside a key: in its own line, or in place of another version.
fn set_version(lines: &mut Vec<String>, key: usize, column: usize) {
    let is_outside = |line: &String| !line.trim().is_empty() && depth(line) < column;
    let start = lines.iter().take(key).rposition(is_outside).map_or(0, |index| index.saturating_add(1));
    let behind = lines.iter().skip(key.saturating_add(1)).position(is_outside);
    let end = behind.map_or(lines.len(), |count| key.saturating_add(1).saturating_add(count));
    let new = format!("{}version: v1", " ".repeat(column));
    let is_version = |line: &String| depth(line) == column && line.trim_start().starts_with("version:");
    let own =
        lines.iter_mut().enumerate().find(|(index, line)| (start..end).contains(index) && is_version(line));
    match own {
        Some((_, line)) => *line = new,
        None => lines.insert(key, new),
    }
}

/// Returns true if a line ends in the `|` of a block scalar, behind the key or, without one, as an item of a list.
fn is_header(line: &str, key: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    let inner = line.trim_start_matches([' ', '-']);
    let is_item = !key.is_empty() || line.trim_start().starts_with("- ");
    let mark = inner.strip_prefix(key).map(str::trim);
    is_item && mark.is_some_and(|mark| matches!(mark, "|" | "|-" | "|+"))
}

fn depth(line: &str) -> usize {
    line.len().saturating_sub(line.trim_start_matches(' ').len())
}
