//! Patterns of file names, as `path/filepath` matches them on Unix.

use std::error::Error;
use std::fmt;

/// A pattern that is malformed: Go's `ErrBadPattern`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPattern;

impl fmt::Display for BadPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("syntax error in pattern")
    }
}

impl Error for BadPattern {}

/// Returns true if a pattern matches all of a name, as `filepath.Match`: `*` and `?` stand for anything but `/`, `[a-z]` and
/// `[^a-z]` for one character, and `\` takes the meaning from what follows.
///
/// A malformed pattern is an error only where the match gets as far as what is wrong with it.
///
/// # Errors
///
/// [`BadPattern`] where a class has no end, a range no bounds, or a `\` nothing behind it.
pub fn matches(pattern: &[u8], name: &[u8]) -> Result<bool, BadPattern> {
    let (mut pattern, mut name) = (pattern, name);
    while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains(&b'/'));
        }
        // The last chunk has to reach the end of the name.
        let reaches = |left: &&[u8]| left.is_empty() || !rest.is_empty();
        let mut found = after_chunk(chunk, name)?.filter(reaches);
        let mut skipped = name;
        while let (true, None, Some((first, behind))) = (star, found, skipped.split_first()) {
            if *first == b'/' {
                break;
            }
            skipped = behind;
            found = after_chunk(chunk, skipped)?.filter(reaches);
        }
        match found {
            Some(left) => name = left,
            None => return Ok(false),
        }
    }
    Ok(name.is_empty())
}

/// Splits a pattern in front of its next star; returns whether it starts with one, what follows that, and the rest.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = pattern.get(stars..).unwrap_or_default();
    let (mut in_class, mut is_escaped) = (false, false);
    let end = pattern.iter().position(|byte| {
        let escaped = std::mem::take(&mut is_escaped);
        match byte {
            _ if escaped => {}
            b'\\' => is_escaped = true,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' => return !in_class,
            _ => {}
        }
        false
    });
    let (chunk, rest) = pattern.split_at_checked(end.unwrap_or(pattern.len())).unwrap_or((pattern, &[]));
    (stars > 0, chunk, rest)
}

/// Returns what is left of a name behind a pattern without stars; `None` where it does not begin so. The pattern is read to its
/// end all the same, for its errors.
fn after_chunk<'n>(mut chunk: &[u8], name: &'n [u8]) -> Result<Option<&'n [u8]>, BadPattern> {
    let mut left = Some(name);
    while let Some((first, behind)) = chunk.split_first() {
        left = left.filter(|left| !left.is_empty());
        (left, chunk) = match first {
            b'[' => {
                let character = left.map(|left| decode(left).0);
                let (is_in, behind) = class(behind, character)?;
                (left.filter(|_| is_in).map(skip), behind)
            }
            b'?' => (left.filter(|left| left.first() != Some(&b'/')).map(skip), behind),
            b'\\' => {
                let (wanted, behind) = behind.split_first().ok_or(BadPattern)?;
                (left.and_then(|left| left.strip_prefix(&[*wanted])), behind)
            }
            wanted => (left.and_then(|left| left.strip_prefix(&[*wanted])), behind),
        };
    }
    Ok(left)
}

/// Reads a class behind its `[`; returns whether the character is in it, and what follows.
fn class(chunk: &[u8], character: Option<char>) -> Result<(bool, &[u8]), BadPattern> {
    let negated = chunk.strip_prefix(b"^");
    let mut chunk = negated.unwrap_or(chunk);
    let (mut is_in, mut is_empty) = (false, true);
    loop {
        if let Some(behind) = chunk.strip_prefix(b"]").filter(|_| !is_empty) {
            return Ok((is_in != negated.is_some(), behind));
        }
        let (low, behind) = class_character(chunk)?;
        let (high, behind) = behind.strip_prefix(b"-").map_or(Ok((low, behind)), class_character)?;
        is_in |= character.is_some_and(|character| (low..=high).contains(&character));
        is_empty = false;
        chunk = behind;
    }
}

/// Reads a character of a class; more has to follow.
fn class_character(chunk: &[u8]) -> Result<(char, &[u8]), BadPattern> {
    if matches!(chunk.first(), None | Some(b'-' | b']')) {
        return Err(BadPattern);
    }
    let chunk = chunk.strip_prefix(b"\\").unwrap_or(chunk);
    let (character, width) = decode(chunk);
    let is_broken = character == char::REPLACEMENT_CHARACTER && width <= 1;
    chunk
        .get(width..)
        .filter(|behind| !is_broken && !behind.is_empty())
        .map(|behind| (character, behind))
        .ok_or(BadPattern)
}

/// Returns the first character and its width; a byte that begins none is U+FFFD, as for Go's `utf8.DecodeRune`.
fn decode(bytes: &[u8]) -> (char, usize) {
    let decoded = (1..=4).find_map(|width| std::str::from_utf8(bytes.get(..width)?).ok()?.chars().next());
    decoded.map_or((char::REPLACEMENT_CHARACTER, 1), |character| (character, character.len_utf8()))
}

fn skip(bytes: &[u8]) -> &[u8] {
    bytes.get(decode(bytes).1..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of Go's `path/filepath/match_test.go`.
    const CASES: &[(&str, &str, Result<bool, BadPattern>)] = &[
        ("abc", "abc", Ok(true)),
        ("*", "abc", Ok(true)),
        ("*c", "abc", Ok(true)),
        ("a*", "a", Ok(true)),
        ("a*", "abc", Ok(true)),
        ("a*", "ab/c", Ok(false)),
        ("a*/b", "abc/b", Ok(true)),
        ("a*/b", "a/c/b", Ok(false)),
        ("a*b*c*d*e*/f", "axbxcxdxe/f", Ok(true)),
        ("a*b*c*d*e*/f", "axbxcxdxexxx/f", Ok(true)),
        ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", Ok(false)),
        ("a*b*c*d*e*/f", "axbxcxdxexxx/fff", Ok(false)),
        ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
        ("a*b?c*x", "abxbbxdbxebxczzy", Ok(false)),
        ("ab[c]", "abc", Ok(true)),
        ("ab[b-d]", "abc", Ok(true)),
        ("ab[e-g]", "abc", Ok(false)),
        ("ab[^c]", "abc", Ok(false)),
        ("ab[^b-d]", "abc", Ok(false)),
        ("ab[^e-g]", "abc", Ok(true)),
        ("a\\*b", "a*b", Ok(true)),
        ("a\\*b", "ab", Ok(false)),
        ("a?b", "a☺b", Ok(true)),
        ("a[^a]b", "a☺b", Ok(true)),
        ("a???b", "a☺b", Ok(false)),
        ("a[^a][^a][^a]b", "a☺b", Ok(false)),
        ("[a-ζ]*", "α", Ok(true)),
        ("*[a-ζ]", "A", Ok(false)),
        ("a?b", "a/b", Ok(false)),
        ("a*b", "a/b", Ok(false)),
        ("[\\]a]", "]", Ok(true)),
        ("[\\-]", "-", Ok(true)),
        ("[x\\-]", "x", Ok(true)),
        ("[x\\-]", "-", Ok(true)),
        ("[x\\-]", "z", Ok(false)),
        ("[\\-x]", "x", Ok(true)),
        ("[\\-x]", "-", Ok(true)),
        ("[\\-x]", "a", Ok(false)),
        ("[]a]", "]", Err(BadPattern)),
        ("[-]", "-", Err(BadPattern)),
        ("[x-]", "x", Err(BadPattern)),
        ("[x-]", "-", Err(BadPattern)),
        ("[x-]", "z", Err(BadPattern)),
        ("[-x]", "x", Err(BadPattern)),
        ("[-x]", "-", Err(BadPattern)),
        ("[-x]", "a", Err(BadPattern)),
        ("\\", "a", Err(BadPattern)),
        ("[a-b-c]", "a", Err(BadPattern)),
        ("[", "a", Err(BadPattern)),
        ("[^", "a", Err(BadPattern)),
        ("[^bc", "a", Err(BadPattern)),
        ("a[", "a", Err(BadPattern)),
        ("a[", "ab", Err(BadPattern)),
        ("a[", "x", Err(BadPattern)),
        ("a/b[", "x", Err(BadPattern)),
        ("*x", "xxx", Ok(true)),
    ];

    #[test]
    fn names_match_as_in_go() {
        for (pattern, name, expected) in CASES {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), *expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_are_bytes() {
        assert_eq!(matches("*[^é]".as_bytes(), "é".as_bytes()), Ok(true));
        assert_eq!(matches(b"a?", b"a\xff"), Ok(true));
        assert_eq!(matches(b"[\xff]", b"\xff"), Err(BadPattern));
        assert_eq!(matches(b"", b""), Ok(true));
        assert_eq!(matches(b"**a", b"ba"), Ok(true));
    }
}
