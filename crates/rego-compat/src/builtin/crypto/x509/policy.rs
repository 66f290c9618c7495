//! Certificate policies along a chain (RFC 5280, 6.1), where any policy will do. Source: Go's `crypto/x509/verify.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::certificate::Certificate;

type Policy = Vec<u8>;

const ANY: &[u8] = &[0x55, 0x1d, 0x20, 0x00];

/// The policies that hold so far, each with those expected below it. None once a certificate has none.
type Leaves = Option<BTreeMap<Policy, Vec<Policy>>>;

/// The number of further certificates that may do without what they limit.
struct Counters {
    explicit: usize,
    mapping: usize,
    any: usize,
}

pub(super) fn is_valid(chain: &[&Certificate]) -> bool {
    let Some((leaf, above)) = chain.split_first() else { return false };
    let Some((_, between)) = above.split_last() else { return true };
    let start = chain.len();
    let mut counters = Counters { explicit: start, mapping: start, any: start };
    let mut leaves: Leaves = Some(BTreeMap::from([(ANY.to_vec(), vec![ANY.to_vec()])]));
    for certificate in between.iter().rev() {
        leaves = below(leaves, certificate, &counters, false);
        if leaves.is_none() && counters.explicit == 0 {
            return false;
        }
        let Some(mapped) = map(leaves, certificate, &counters) else { return false };
        leaves = mapped;
        counters.count(certificate);
    }
    leaves = below(leaves, leaf, &counters, true);
    if leaves.is_none() && counters.explicit == 0 {
        return false;
    }
    let explicit = counters.explicit <= 1 || leaf.extensions.require_explicit.0 == Some(0);
    !explicit || leaves.is_some_and(|leaves| !leaves.is_empty())
}

fn is_self_issued(certificate: &Certificate) -> bool {
    certificate.raw_issuer == certificate.raw_subject
}

/// Returns the policies that hold with one more certificate.
fn below(leaves: Leaves, certificate: &Certificate, counters: &Counters, last: bool) -> Leaves {
    let policies = certificate.extensions.policies.as_ref().filter(|policies| !policies.is_empty());
    let (parents, policies) = (leaves?, policies?);
    let mut found: BTreeMap<Policy, Vec<Policy>> = BTreeMap::new();
    let expected: BTreeSet<&Policy> = parents.values().flatten().collect();
    for policy in policies.iter().filter(|policy| *policy != ANY) {
        if expected.contains(policy) || parents.contains_key(ANY) {
            found.insert(policy.clone(), vec![policy.clone()]);
        }
    }
    let any_counts = counters.any > 0 || (!last && is_self_issued(certificate));
    if any_counts && policies.iter().any(|policy| policy == ANY) {
        for expected in parents.into_values().flatten() {
            found.entry(expected.clone()).or_insert_with(|| vec![expected]);
        }
    }
    Some(found)
}

/// Maps policies to those of the domain below; none where that is forbidden altogether.
fn map(leaves: Leaves, certificate: &Certificate, counters: &Counters) -> Option<Leaves> {
    let Some(mut leaves) = leaves else { return Some(None) };
    let mut mappings: BTreeMap<&Policy, Vec<Policy>> = BTreeMap::new();
    for (issuer, subject) in &certificate.extensions.mappings {
        if counters.mapping == 0 {
            leaves.remove(issuer);
        } else if issuer == ANY || subject == ANY {
            return None;
        } else {
            mappings.entry(issuer).or_default().push(subject.clone());
        }
    }
    for (issuer, subjects) in mappings {
        if leaves.contains_key(issuer) || leaves.contains_key(ANY) {
            leaves.insert(issuer.clone(), subjects);
        }
    }
    Some(Some(leaves))
}

impl Counters {
    fn count(&mut self, certificate: &Certificate) {
        let extensions = &certificate.extensions;
        let limits = [
            (&mut self.explicit, &extensions.require_explicit),
            (&mut self.mapping, &extensions.inhibit_mapping),
            (&mut self.any, &extensions.inhibit_any),
        ];
        for (counter, limit) in limits {
            if !is_self_issued(certificate) {
                *counter = counter.saturating_sub(1);
            }
            if let Some(limit) = limit.0.and_then(|limit| usize::try_from(limit).ok()) {
                *counter = limit.min(*counter);
            }
        }
    }
}
