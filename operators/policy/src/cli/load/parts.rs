//! The documents of a long text, read on all cores.
//!
//! A line `---` ends a document wherever it stands, so the text is cut before some of these lines. The parts are as long
//! as they are on every machine, because bounds such as that on aliases count within one of them.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use go_compat::sigs_yaml::{Placed, YamlError, documents};

/// Bytes of a part, at least.
const LENGTH: usize = 256 << 10;
const MARK: &str = "\n---\n";

/// As [`documents`] of the whole text.
pub(super) fn documents_of(text: &str) -> Result<Vec<Placed>, YamlError> {
    let parts = parts(text, LENGTH);
    if parts.len() < 2 {
        return documents(text);
    }
    // A directive stands before the line that begins its document, and messages name the lines of the whole text.
    in_parallel(&parts).or_else(|_| documents(text))
}

/// A part and the number of lines before it.
type Part<'t> = (u64, &'t str);

fn parts(text: &str, length: usize) -> Vec<Part<'_>> {
    // JSON documents in a row are one text.
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
    let (mut found, mut lines, mut rest) = (Vec::new(), 0_u64, text);
    while let Some(at) = (!is_json).then(|| cut(rest, length)).flatten() {
        let (part, next) = rest.split_at(at);
        found.push((lines, part));
        let more = part.bytes().filter(|byte| *byte == b'\n').count();
        lines = lines.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        rest = next;
    }
    found.push((lines, rest));
    found
}

/// Returns where the first part ends, if there is another one.
fn cut(text: &str, length: usize) -> Option<usize> {
    // The bytes of the mark are no part of longer characters.
    let bytes = text.as_bytes().get(length..)?;
    let at = bytes.windows(MARK.len()).position(|window| window == MARK.as_bytes())?;
    length.checked_add(at)?.checked_add(1)
}

/// Each thread takes the next part when it has read one, so that all end at the same time.
fn in_parallel(parts: &[Part<'_>]) -> Result<Vec<Placed>, YamlError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(position) else { return Ok(found) };
            found.push((position, read(part)?));
        }
    };
    let shares: Result<Vec<_>, YamlError> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(parts.len())).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|read| read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let mut found: Vec<_> = shares?.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(position, _)| *position);
    Ok(found.into_iter().flat_map(|(_, documents)| documents).collect())
}

fn read((lines, text): &Part<'_>) -> Result<Vec<Placed>, YamlError> {
    let mut found = documents(text)?;
    for document in &mut found {
        let places = [&mut document.line].into_iter().chain(&mut document.item_lines);
        let places = places.chain(document.duplicate.as_mut().map(|duplicate| &mut duplicate.line));
        places.for_each(|line| *line = line.saturating_add(*lines));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As `documents_of` with parts of that length.
    fn cut_and_read(text: &str, length: usize) -> Result<Vec<Placed>, YamlError> {
        in_parallel(&parts(text, length)).or_else(|_| documents(text))
    }

    proptest! {
        #[test]
        fn a_text_in_parts_holds_what_the_whole_text_holds(
            lines in prop::collection::vec(prop::sample::select(vec![
                "---", "--- a", "---\r", "...", "a: 1", "a: 2", "b: |", "  x", " ---", "- x", "items: [1,", "2]", "c: 'x", "'", "# c", "",
                "%TAG ! tag:x,2000:", "d: !x y", "&n e: 1", "f: *n", "{\"a\": 1}", "[1]", "kind: List", "items:", "- {a: 1}",
            ]), 0..24),
            length in 0_usize..40
        ) {
            let text = lines.join("\n");
            prop_assert_eq!(cut_and_read(&text, length), documents(&text), "{}", text);
        }
    }

    #[test]
    fn a_long_text_is_read_in_parts() {
        let text: String = (0..40_000).map(|number| format!("a: {number}\n---\n")).collect();
        assert!(parts(&text, LENGTH).len() > 1);
        let found = documents_of(&text).unwrap();
        let places: Vec<_> =
            found.iter().map(|document| (document.line, document.value["a"].as_u64())).collect();
        let wanted = (0..40_000).map(|number| (number * 2 + 1, Some(number)));
        assert!(places.iter().copied().take(40_000).eq(wanted));
    }
}
