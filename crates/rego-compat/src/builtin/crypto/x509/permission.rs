//! The name constraints of a chain of certificates. Source: Go's `crypto/x509/constraints.go`.

use std::net::IpAddr;

use super::certificate::Certificate;
use super::constraint::{Constraints, Subtrees};
use super::host::is_domain;
use super::mailbox::Mailbox;

/// Returns true if each certificate's names satisfy the constraints of all above it.
pub(super) fn is_permitted(chain: &[&Certificate]) -> bool {
    chain.iter().enumerate().all(|(place, certificate)| {
        let above = chain.iter().skip(place.saturating_add(1)).map(|certificate| &certificate.extensions);
        let constraints: Vec<&Constraints> = above
            .filter(|extensions| extensions.is_constrained)
            .map(|extensions| &extensions.constraints)
            .collect();
        let named = certificate.extensions.raw_alternatives.is_some();
        constraints.is_empty()
            || !named
            || Names::of(certificate).is_some_and(|names| names.satisfy(&constraints))
    })
}

/// The names of a certificate, as far as constraints speak of them.
struct Names<'c> {
    hosts: &'c [String],
    addresses: &'c [Vec<u8>],
    domains: Vec<String>,
    mailboxes: Vec<Mailbox>,
}

impl<'c> Names<'c> {
    /// Reads the names of a certificate; `None` where one cannot be compared.
    fn of(certificate: &'c Certificate) -> Option<Self> {
        let names = &certificate.extensions.alternatives;
        let domains = names.uris.iter().map(|uri| domain_of(&uri.host)).collect::<Option<Vec<_>>>()?;
        let mailbox = |text: &String| {
            let parsed = Mailbox::parse(text)?;
            Some(Mailbox { domain: parsed.domain.to_ascii_lowercase(), ..parsed })
        };
        let mailboxes = names.mailboxes.iter().map(mailbox).collect::<Option<Vec<_>>>()?;
        let valid = |name: &str| is_domain(name.as_bytes(), false);
        let all = names.hosts.iter().chain(&domains).chain(mailboxes.iter().map(|mailbox| &mailbox.domain));
        if !all.into_iter().all(|name| valid(name)) {
            return None;
        }
        Some(Self { hosts: &names.hosts, addresses: &names.addresses, domains, mailboxes })
    }

    fn satisfy(&self, constraints: &[&Constraints]) -> bool {
        constraints.iter().all(|constraints| {
            let (permitted, excluded) = (&constraints.permitted, &constraints.excluded);
            self.are_all_in(permitted) && !self.is_any_in(excluded)
        })
    }

    fn are_all_in(&self, trees: &Subtrees) -> bool {
        let domain = |list: &[String], name: &str| list.is_empty() || covers(list, name, true);
        self.hosts.iter().all(|host| domain(&trees.hosts, host))
            && self.domains.iter().all(|name| domain(&trees.domains, name))
            && self.addresses.iter().all(|address| trees.networks.is_empty() || contains(trees, address))
            && self.mailboxes.iter().all(|mailbox| trees.mailboxes.is_empty() || holds(trees, mailbox, true))
    }

    fn is_any_in(&self, trees: &Subtrees) -> bool {
        self.hosts.iter().any(|host| covers(&trees.hosts, host, false))
            || self.domains.iter().any(|name| covers(&trees.domains, name, false))
            || self.addresses.iter().any(|address| contains(trees, address))
            || self.mailboxes.iter().any(|mailbox| holds(trees, mailbox, false))
    }
}

/// Returns the name in an address's host; none if it is empty or a number.
fn domain_of(host: &[u8]) -> Option<String> {
    let host = String::from_utf8(host.to_vec()).ok()?.to_lowercase();
    let name = match host.rsplit_once(':') {
        Some((name, _)) if !host.ends_with(']') => name,
        _ => &host,
    };
    let bracketed = name.starts_with('[') && name.ends_with(']');
    let usable = !name.is_empty() && !name.contains(':') && !bracketed && name.parse::<IpAddr>().is_err();
    usable.then(|| name.to_owned())
}

/// Returns true if a name is in one of the domains.
fn covers(domains: &[String], name: &str, permitted: bool) -> bool {
    let parent = |name: &str| name.find('.').and_then(|dot| name.get(dot..)).map(str::to_lowercase);
    domains.iter().any(|domain| {
        // A name for all hosts of a domain is excluded with any of them.
        let wild = !permitted
            && name.starts_with('*')
            && parent(name).is_some_and(|own| parent(domain) == Some(own));
        domain.is_empty() || is_below(domain, name) || wild
    })
}

fn is_below(domain: &str, name: &str) -> bool {
    let Some(start) = name.len().checked_sub(domain.len()) else { return false };
    let ends = name.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(domain));
    let whole =
        start == 0 || domain.starts_with('.') || name.get(..start).is_some_and(|rest| rest.ends_with('.'));
    ends && whole
}

fn contains(trees: &Subtrees, address: &[u8]) -> bool {
    trees.networks.iter().any(|(network, mask)| {
        let pairs = network.iter().zip(mask).zip(address);
        network.len() == address.len()
            && pairs.into_iter().all(|((network, mask), byte)| network & mask == byte & mask)
    })
}

fn holds(trees: &Subtrees, mailbox: &Mailbox, permitted: bool) -> bool {
    let (exact, domains): (Vec<&String>, Vec<&String>) =
        trees.mailboxes.iter().partition(|text| text.contains('@'));
    let same = |text: &&String| {
        let parsed = Mailbox::parse(text);
        parsed.is_some_and(|own| own.local == mailbox.local && own.domain.to_lowercase() == mailbox.domain)
    };
    let domains: Vec<String> = domains.into_iter().cloned().collect();
    exact.iter().any(same) || covers(&domains, &mailbox.domain, permitted)
}
