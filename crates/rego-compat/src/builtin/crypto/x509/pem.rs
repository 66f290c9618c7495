//! PEM blocks, found and read as Go's `encoding/pem` does.

use go_compat::base64::decode as from_base64;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

pub(super) struct Block {
    pub(super) label: String,
    pub(super) content: Vec<u8>,
}

fn position(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

fn last_position(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).rposition(|window| window == pattern)
}

/// Returns a line without its end and blanks before that, and what follows.
fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match position(bytes, b"\n") {
        Some(end) => {
            let (line, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            (line.strip_suffix(b"\r").unwrap_or(line), rest.get(1..).unwrap_or_default())
        }
        None => (bytes, [].as_slice()),
    };
    let end =
        line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last.saturating_add(1));
    (line.get(..end).unwrap_or_default(), rest)
}

/// Returns the next block, and what follows it; none if there is no further one.
pub(super) fn next(bytes: &[u8]) -> Option<(Block, &[u8])> {
    let mut rest = bytes;
    loop {
        let end = position(rest, END)?;
        let (before, from_end) = rest.split_at_checked(end)?;
        let trailer = from_end.get(END.len()..)?;
        if let Some((block, rest)) = block(before, trailer) {
            return Some((block, rest));
        }
        rest = trailer;
    }
}

/// Returns the block between the last beginning before an end, and that end.
fn block<'b>(before: &'b [u8], trailer: &'b [u8]) -> Option<(Block, &'b [u8])> {
    let begin = last_position(before, BEGIN)?;
    let at_line = begin.checked_sub(1).is_none_or(|last| before.get(last) == Some(&b'\n'));
    let (label, mut body) = line(before.get(begin.checked_add(BEGIN.len())?..).filter(|_| at_line)?);
    let label = label.strip_suffix(DASHES)?;
    // Lines with a colon are headers.
    loop {
        let (first, after) = line(body);
        if !first.contains(&b':') {
            break;
        }
        body = after;
    }
    let after = trailer.strip_prefix(label)?.strip_prefix(DASHES)?;
    let (left, rest) = line(after);
    if !left.is_empty() {
        return None;
    }
    let digits: Vec<u8> = body.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t')).collect();
    let content = from_base64(&digits)?;
    Some((Block { label: String::from_utf8_lossy(label).into_owned(), content }, rest))
}
