//! The search for a chain of certificates from a root to a leaf. Source: Go's `crypto/x509`, `verify.go` and
//! `constraints.go`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::certificate::Certificate;
use super::host;
use super::permission;

/// Signatures that are checked at most for one leaf.
const MOST_SIGNATURES: usize = 100;
const SERVER: i64 = 1;
const SIGNS_CERTIFICATES: i64 = 1 << 5;

/// The requirements on a chain.
pub(super) struct Options {
    pub(super) host: String,
    /// Nanoseconds since 1970.
    pub(super) now: i128,
    /// Go's numbers of the usages, one of which must be allowed.
    pub(super) usages: Vec<i64>,
}

/// Returns the first chain from the last certificate to the first, those between being intermediate.
pub(super) fn chain<'c>(certificates: &'c [Certificate], options: &Options) -> Option<Vec<&'c Certificate>> {
    let (root, others) = certificates.split_first()?;
    let (leaf, between) = others.split_last()?;
    if !is_valid(leaf, &[], false, options) {
        return None;
    }
    if !options.host.is_empty() && !is_named(leaf, &options.host) {
        return None;
    }
    // A pool holds each certificate once.
    let mut seen = BTreeSet::new();
    let between = between.iter().filter(|certificate| seen.insert(&certificate.raw)).collect();
    let mut search = Search { root, between, options, checked: 0, found: Vec::new() };
    if leaf.raw == root.raw {
        search.found.push(vec![leaf]);
    } else {
        search.extend(&[leaf]);
    }
    let allowed = |chain: &Vec<&Certificate>| {
        super::policy::is_valid(chain)
            && is_allowed(chain, &options.usages)
            && permission::is_permitted(chain)
    };
    search.found.into_iter().find(allowed)
}

struct Search<'c, 'o> {
    root: &'c Certificate,
    between: Vec<&'c Certificate>,
    options: &'o Options,
    checked: usize,
    found: Vec<Vec<&'c Certificate>>,
}

impl<'c> Search<'c, '_> {
    /// Looks for all ways from the end of a chain to the root.
    fn extend(&mut self, chain: &[&'c Certificate]) {
        let Some(last) = chain.last().copied().filter(|_| self.checked <= MOST_SIGNATURES) else { return };
        if last.raw_issuer == self.root.raw_subject && self.accepts(chain, last, self.root, false) {
            self.found.push([chain, &[self.root]].concat());
        }
        let parents = self.between.iter().filter(|candidate| candidate.raw_subject == last.raw_issuer);
        let mut parents: Vec<&Certificate> = parents.copied().collect();
        parents.sort_by_key(|parent| likelihood(parent, last));
        for parent in parents {
            if self.accepts(chain, last, parent, true) {
                self.extend(&[chain, &[parent]].concat());
            }
        }
    }

    fn accepts(
        &mut self,
        chain: &[&Certificate],
        child: &Certificate,
        parent: &Certificate,
        between: bool,
    ) -> bool {
        self.checked = self.checked.saturating_add(1);
        self.checked <= MOST_SIGNATURES
            && !is_in(parent, chain)
            && has_signed(parent, child)
            && is_valid(parent, chain, between, self.options)
    }
}

/// Parents with the key that the child names come first, those with another one last.
fn likelihood(parent: &Certificate, child: &Certificate) -> u8 {
    let (subject, authority) = (&parent.extensions.subject_key, &child.extensions.authority_key);
    let (subject, authority) =
        (subject.as_deref().unwrap_or_default(), authority.as_deref().unwrap_or_default());
    match (subject == authority, subject.is_empty() != authority.is_empty()) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

fn is_in(candidate: &Certificate, chain: &[&Certificate]) -> bool {
    let alike = |other: &&&Certificate| {
        other.raw_subject == candidate.raw_subject && other.raw_key == candidate.raw_key
    };
    for other in chain.iter().filter(alike) {
        match (&candidate.extensions.raw_alternatives, &other.extensions.raw_alternatives) {
            (None, None) => return true,
            (None, _) | (_, None) => return false,
            (Some(a), Some(b)) if a == b => return true,
            _ => {}
        }
    }
    false
}

fn has_signed(parent: &Certificate, child: &Certificate) -> bool {
    let authority = match parent.extensions.basic {
        Some((authority, _)) => authority,
        None => parent.version != 3,
    };
    let usage = parent.extensions.key_usage;
    authority
        && (usage == 0 || usage & SIGNS_CERTIFICATES != 0)
        && child.algorithm.verifies(&parent.key, &child.signed, &child.signature)
}

fn is_valid(certificate: &Certificate, chain: &[&Certificate], between: bool, options: &Options) -> bool {
    let nanos = |seconds: i64| i128::from(seconds).saturating_mul(1_000_000_000);
    let basic = certificate.extensions.basic;
    let below = chain.len().saturating_sub(1);
    let short = basic.is_none_or(|(_, most)| usize::try_from(most).map_or(true, |most| below <= most));
    certificate.extensions.unhandled.is_empty()
        && chain.last().is_none_or(|child| child.raw_issuer == certificate.raw_subject)
        && options.now >= nanos(certificate.not_before)
        && options.now <= nanos(certificate.not_after)
        && (!between || basic.is_some_and(|(authority, _)| authority))
        && short
}

/// Returns true if a certificate is for a host, by name or by address.
fn is_named(certificate: &Certificate, wanted: &str) -> bool {
    let names = &certificate.extensions.alternatives;
    let bare =
        wanted.strip_prefix('[').and_then(|bare| bare.strip_suffix(']')).filter(|bare| !bare.is_empty());
    if let Ok(address) = bare.unwrap_or(wanted).parse::<IpAddr>() {
        let same =
            |bytes: &Vec<u8>| host::address(bytes).is_some_and(|other| other == address.to_canonical());
        return names.addresses.iter().any(same);
    }
    names.hosts.iter().any(|pattern| host::matches(pattern, wanted))
}

/// Returns true if one of the usages is allowed by all certificates that restrict them.
fn is_allowed(chain: &[&Certificate], usages: &[i64]) -> bool {
    if usages.contains(&0) {
        return true;
    }
    let mut left: Vec<i64> = if usages.is_empty() { vec![SERVER] } else { usages.to_vec() };
    for certificate in chain.iter().rev() {
        let own = &certificate.extensions.usages;
        let unrestricted = own.is_empty() && certificate.extensions.unknown_usages.is_empty();
        if !unrestricted && !own.contains(&0) {
            left.retain(|usage| own.contains(usage));
            if left.is_empty() {
                return false;
            }
        }
    }
    true
}
