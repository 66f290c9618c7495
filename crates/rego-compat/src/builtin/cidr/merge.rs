//! The union of networks, as few networks as possible. Source: OPA `internal/cidr/merge`.

use go_compat::net::{Cidr, is_v4};

struct Range {
    first: u128,
    last: u128,
    /// The network this range came from, until it is merged with another.
    origin: Option<Cidr>,
}

/// Joins networks that overlap or touch.
pub(super) fn merged(networks: Vec<Cidr>) -> Vec<Cidr> {
    let mut ranges: Vec<Range> = networks
        .into_iter()
        .map(|network| {
            let (first, last) = network.range();
            Range { first, last, origin: Some(network) }
        })
        .collect();
    ranges.sort_by_key(|range| (range.last, range.first));
    let mut joined: Vec<Range> = Vec::new();
    while let Some(range) = ranges.pop() {
        match joined.last_mut() {
            Some(later) if touches(&range, later) => {
                later.first = later.first.min(range.first);
                later.origin = None;
            }
            _ => joined.push(range),
        }
    }
    joined
        .iter()
        .flat_map(|range| range.origin.map_or_else(|| networks_of(range), |origin| vec![origin]))
        .collect()
}

/// Returns true if the range before a later one reaches up to it. The address before the first of all is itself.
fn touches(earlier: &Range, later: &Range) -> bool {
    let first_of_all = later.first == 0 || (is_v4(later.first) && later.first & 0xffff_ffff == 0);
    let before = if first_of_all { later.first } else { later.first.saturating_sub(1) };
    before <= earlier.last
}

/// Returns the networks that make up a range, from the largest that fits at its beginning.
fn networks_of(range: &Range) -> Vec<Cidr> {
    let wide = !is_v4(range.first);
    let mut networks = Vec::new();
    let mut first = range.first;
    loop {
        let span = range.last.saturating_sub(first);
        let free = first.trailing_zeros().min(128);
        let fitting = span.checked_add(1).map_or(128, |count| 127_u32.saturating_sub(count.leading_zeros()));
        let bits = free.min(fitting);
        networks.push(Cidr::of_bits(first, 128_u32.saturating_sub(bits), wide));
        let next = 1_u128.checked_shl(bits).and_then(|size| first.checked_add(size));
        match next {
            Some(next) if next <= range.last => first = next,
            _ => return networks,
        }
    }
}
