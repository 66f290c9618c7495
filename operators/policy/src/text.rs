//! Beginnings of texts, and counted nouns.

/// The beginning of a text in at most `longest` bytes. No character is cut in two.
pub(crate) fn beginning(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// `1 object`, `1,551 objects`, `2 policies`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let number_text = thousands(number);
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number_text} {noun}"),
        Some(stem) => format!("{number_text} {stem}ies"),
        None => format!("{number_text} {noun}s"),
    }
}

/// 1551 as `1,551`.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && digits.len().saturating_sub(position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        assert_eq!(beginning("aé", 3), "aé");
        assert_eq!(beginning("aé", 2), "a");
        assert_eq!(beginning("é", 1), "");
    }

    #[test]
    fn thousands_are_separated() {
        let numbers = [0, 999, 1000, 12_345, 1_234_567].map(thousands);
        assert_eq!(numbers, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn one_is_singular() {
        let nouns =
            [(0, "object"), (1, "policy"), (1551, "policy")].map(|(number, noun)| counted(number, noun));
        assert_eq!(nouns, ["0 objects", "1 policy", "1,551 policies"]);
    }
}
