//! Names of report objects, and label values: valid for any input, bounded, and never the same for two
//! different inputs.
//!
//! Tokens are joined by one dash, with the dashes inside a token doubled: `a-b` and `c` give `a--b-c`, while
//! `a` and `b-c` give `a-b--c`. A run of dashes in such a name is a single one or of even length. Tokens
//! that do not fit get a name with a run of *three*, followed by a hash, so the two forms cannot meet.

use sha2::{Digest, Sha256};

/// The limit for the name of a custom resource: a DNS-1123 subdomain.
const NAME_LIMIT: usize = 253;
/// The limit for a label value.
const LABEL_LIMIT: usize = 63;
const HASHED: &str = "---";
/// 128 bits: collisions cannot be found by trying.
const HASH_BYTES: usize = 16;

/// Packs `tokens` into one name, a DNS-1123 subdomain of at most 253 characters.
///
/// Different tokens have different names, up to collisions of a 128-bit hash.
pub fn pack(tokens: &[&str]) -> String {
    let packed = tokens.iter().map(|token| token.replace('-', "--")).collect::<Vec<_>>().join("-");
    let fits = packed.len() <= NAME_LIMIT && tokens.iter().all(|token| is_clean(token));
    if fits && !tokens.is_empty() {
        return packed;
    }
    hashed(&tokens.join("-"), &fingerprint(tokens), NAME_LIMIT)
}

/// Returns the tokens of a name that [`pack`] made without a hash.
pub fn unpack(name: &str) -> Option<Vec<String>> {
    if has_hash(name) {
        return None;
    }
    // A doubled dash is hidden while the single ones split. A slash cannot occur in a name.
    let tokens = name.replace("--", "/");
    let tokens: Vec<String> = tokens.split('-').map(|token| token.replace('/', "-")).collect();
    tokens.iter().all(|token| is_clean(token)).then_some(tokens)
}

/// Returns `text` as a label value of at most 63 characters; different texts have different values, up to
/// collisions of a 128-bit hash. A text that is a valid label value stands for itself.
pub fn label_value(text: &str) -> String {
    let valid = text.len() <= LABEL_LIMIT
        && !has_hash(text)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if valid { text.to_owned() } else { hashed(text, &fingerprint(&[text]), LABEL_LIMIT) }
}

/// Returns true if a run of exactly three dashes occurs, the mark of a hashed name.
fn has_hash(name: &str) -> bool {
    name.split(|c| c != '-').any(|run| run.len() == HASHED.len())
}

/// A readable beginning, three dashes, the hash.
fn hashed(readable: &str, hash: &str, limit: usize) -> String {
    let room = limit.saturating_sub(HASHED.len()).saturating_sub(hash.len());
    let mut slug: String = readable
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if is_clean_char(c) { c } else { '-' })
        .take(room)
        .collect();
    // Dots need an alphanumeric character on both sides; the hash carries the difference anyway.
    slug = slug.replace('.', "-");
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "x" } else { slug };
    format!("{slug}{HASHED}{hash}")
}

/// Each token is preceded by its length, so that moving a boundary changes the hash.
fn fingerprint(tokens: &[&str]) -> String {
    let mut hash = Sha256::new();
    for token in tokens {
        hash.update(u64::try_from(token.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(token.as_bytes());
    }
    hash.finalize().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns true if `token` is a DNS-1123 subdomain, so that doubling its dashes leaves it one.
fn is_clean(token: &str) -> bool {
    token.split('.').all(|part| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.chars().all(is_clean_char)
    })
}

fn is_clean_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?",
            2 => "[a-b.-]{0,5}",
            1 => "\\PC{0,8}",
            1 => "[a-z]{120,260}",
        ]
    }

    fn tokens() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(token(), 0..5)
    }

    fn packed(tokens: &[String]) -> String {
        pack(&tokens.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn is_subdomain(name: &str) -> bool {
        name.len() <= 253 && is_clean(name)
    }

    proptest! {
        #[test]
        fn names_are_valid_for_any_input(tokens in tokens()) {
            let name = packed(&tokens);
            prop_assert!(is_subdomain(&name), "{name}");
        }

        #[test]
        fn different_tokens_have_different_names(a in tokens(), b in tokens()) {
            prop_assert_eq!(a == b, packed(&a) == packed(&b));
        }

        #[test]
        fn moving_a_boundary_changes_the_name(text in "[a-c-]{2,12}", i in 1usize..12, j in 1usize..12) {
            let (i, j) = (i.min(text.len()), j.min(text.len()));
            let split = |at: usize| {
                let (front, back) = text.split_at(at);
                pack(&[front, back])
            };
            prop_assert_eq!(i == j, split(i) == split(j));
        }

        #[test]
        fn clean_tokens_come_back(tokens in prop::collection::vec("[a-z0-9]([a-z0-9-]{0,9}[a-z0-9])?", 1..5)) {
            prop_assert_eq!(unpack(&packed(&tokens)), Some(tokens));
        }

        #[test]
        fn unpacking_any_text_never_invents_tokens(text in "[a-z-]{0,20}") {
            if let Some(tokens) = unpack(&text) {
                prop_assert_eq!(packed(&tokens), text);
            }
        }

        #[test]
        fn label_values_are_valid_and_different(a in token(), b in token()) {
            let value = label_value(&a);
            prop_assert!(value.len() <= 63);
            prop_assert!(value.starts_with(|c: char| c.is_ascii_alphanumeric()), "{value}");
            prop_assert!(value.ends_with(|c: char| c.is_ascii_alphanumeric()), "{value}");
            prop_assert!(value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{value}");
            prop_assert_eq!(a == b, value == label_value(&b));
        }
    }

    #[test]
    fn the_table_of_the_established_packing() {
        for (tokens, name) in [
            (&["a-b", "c"][..], "a--b-c"),
            (&["a", "b-c"], "a-b--c"),
            (&["webhook-7d9f-x2x", "0"], "webhook--7d9f--x2x-0"),
            (&["pod", "k8srequiredlabels", "all.must.have"], "pod-k8srequiredlabels-all.must.have"),
        ] {
            assert_eq!(pack(tokens), name);
        }
    }

    #[test]
    fn what_does_not_fit_is_hashed_behind_three_dashes() {
        for tokens in [&["", "a"][..], &["-a", "b"], &["A"], &[], &["a..b"], &["x".repeat(300).as_str()]] {
            let name = pack(tokens);
            assert!(has_hash(&name) && is_subdomain(&name), "{name}");
            assert_eq!(unpack(&name), None);
        }
    }
}
