//! Lists of authorities, as PEM text.

use std::time::SystemTime;

use crate::certificate::{certificates, expiry};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Returns the certificates of `others` that have not expired at `now`, followed by all of `own`: each once, without the text around
/// it.
///
/// Keeps clients trusting every server that shares a name while certificates are replaced one by one.
pub fn merge_authorities(others: &[&str], own: &str, now: SystemTime) -> String {
    let valid = |block: &&str| {
        let expires = certificates(block).ok().and_then(|parsed| expiry(parsed.first()?));
        expires.is_some_and(|expires| expires > now)
    };
    let others = others.iter().copied().flat_map(blocks).filter(valid);
    let mut kept = Vec::new();
    for block in others.chain(blocks(own)) {
        if !kept.contains(&block) {
            kept.push(block);
        }
    }
    kept.into_iter().map(|block| format!("{block}\n")).collect()
}

/// Returns true if each certificate of `wanted` is in `bundle`. Both are PEM texts, whose other lines do not count.
pub fn includes_authorities(bundle: &str, wanted: &str) -> bool {
    let held: Vec<_> = blocks(bundle).collect();
    blocks(wanted).all(|block| held.contains(&block))
}

/// The PEM blocks of certificates in a text.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(END).filter_map(|block| block.get(block.find(BEGIN)?..))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ServingCertificate;

    fn authority(lifetime: Duration) -> String {
        let hosts = ["a.svc".to_owned()];
        ServingCertificate::generate_for(&hosts, SystemTime::now(), lifetime).unwrap().authority
    }

    #[test]
    fn authorities_are_merged_once_without_comments_and_only_others_expire() {
        let hour = Duration::from_secs(3600);
        let (a, b, short) = (authority(9 * hour), authority(9 * hour), authority(hour));
        let commented = format!("# subject=a\n{a}\n\n# and b\r\n{b}");
        let now = SystemTime::now();
        assert_eq!(merge_authorities(&[&commented, &b], &a, now), format!("{}\n{}\n", a.trim(), b.trim()));
        let later = now.checked_add(2 * hour).unwrap();
        assert_eq!(merge_authorities(&[&a, &short], "", later), format!("{}\n", a.trim()));
        // A clock that is ahead must not take away what this server is trusted by.
        assert_eq!(merge_authorities(&[], &short, later), format!("{}\n", short.trim()));
        assert!(includes_authorities(&commented, &a) && includes_authorities(&commented, ""));
        assert!(!includes_authorities(&a, &commented) && !includes_authorities("", &b));
    }
}
