//! `strconv.Unquote` and `strconv.UnquoteChar`.

/// The meaning of a character or an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unquoted {
    /// A character.
    Char(char),
    /// A byte that stands for itself (`\xff`, `\377`), which need not be UTF-8.
    Byte(u8),
}

/// Unquotes as `strconv.Unquote` does: to the bytes of a literal in double quotes, backquotes, or single quotes
/// around one character; returns `None` where it returns an error.
#[must_use]
pub fn unquote(quoted: &str) -> Option<Vec<u8>> {
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    let mut rest = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    if quote == '`' {
        return (!rest.contains('`')).then(|| rest.replace('\r', "").into_bytes());
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut count = 0_usize;
    while !rest.is_empty() {
        let (unit, after) = unquote_char(rest, quote).filter(|_| !rest.starts_with('\n'))?;
        match unit {
            Unquoted::Char(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Unquoted::Byte(byte) => bytes.push(byte),
        }
        rest = after;
        count = count.saturating_add(1);
    }
    (quote == '"' || count == 1).then_some(bytes)
}

/// Unquotes as `strconv.UnquoteChar` does: to the first character of the inside of a literal, escaped or not, and
/// what follows it; returns `None` where it returns an error. The quote is refused unless it is escaped.
#[must_use]
pub fn unquote_char(text: &str, quote: char) -> Option<(Unquoted, &str)> {
    let mut characters = text.chars();
    let first = characters.next().filter(|first| *first != quote)?;
    if first != '\\' {
        return Some((Unquoted::Char(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let plain = |character| Some((Unquoted::Char(character), rest));
    match escape {
        'a' => plain('\u{7}'),
        'b' => plain('\u{8}'),
        'f' => plain('\u{c}'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\u{b}'),
        '\\' => plain('\\'),
        '\'' | '"' if escape == quote => plain(quote),
        'x' => byte(rest, 2, 16),
        '0'..='7' => byte(text.get(1..)?, 3, 8),
        'u' => code(rest, 4, 16).and_then(|(code, rest)| Some((Unquoted::Char(char::from_u32(code)?), rest))),
        'U' => code(rest, 8, 16).and_then(|(code, rest)| Some((Unquoted::Char(char::from_u32(code)?), rest))),
        _ => None,
    }
}

fn byte(text: &str, length: usize, radix: u32) -> Option<(Unquoted, &str)> {
    let (code, rest) = code(text, length, radix)?;
    Some((Unquoted::Byte(u8::try_from(code).ok()?), rest))
}

/// A number of so many digits, and what follows it.
fn code(text: &str, length: usize, radix: u32) -> Option<(u32, &str)> {
    let (digits, after) = text.split_at_checked(length)?;
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    Some((u32::from_str_radix(digits, radix).ok().filter(|_| is_number)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_as_in_go() {
        for (quoted, expected) in [
            (r#""a\t\"\\\x41\101é\u00e9\U0001F600'""#, "a\t\"\\AAéé😀'"),
            ("`a\\n\r\n`", "a\\n\n"),
            (r"'\''", "'"),
            ("\"\"", ""),
        ] {
            assert_eq!(unquote(quoted), Some(expected.as_bytes().to_vec()), "{quoted}");
        }
        assert_eq!(unquote(r#""\xff""#), Some(vec![0xff]));
        for wrong in [
            "",
            "a",
            "\"",
            "'ab'",
            "''",
            "\"a\nb\"",
            r#""\'""#,
            r#""\400""#,
            r#""\ud800""#,
            r#""\x4""#,
            "\"a\"b\"",
            "`a`b`",
            r#""\q""#,
        ] {
            assert_eq!(unquote(wrong), None, "{wrong}");
        }
        assert_eq!(unquote_char(r"\377x", '\''), Some((Unquoted::Byte(255), "x")));
    }
}
