//! Free loopback ports, outside the range from which the kernel picks ports for outgoing connections:
//! a stopped component gets its port back when it is started again.
//!
//! It does not reserve anything: between the choice and the bind another process can be faster, and then
//! the whole start is tried again.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use crate::Error;

/// Below Linux's `ip_local_port_range` (32768 to 60999).
const RANGE: Range<u16> = 20_000..32_768;

/// `N` different free ports.
pub(crate) fn free<const N: usize>() -> Result<[u16; N], Error> {
    let mut free = candidates().filter(|port| is_free(*port));
    let mut ports = [0; N];
    for port in &mut ports {
        *port = free.next().ok_or(Error::NoPort)?;
    }
    Ok(ports)
}

/// Every port of the range once, from a random one on: test binaries that start together rarely meet.
fn candidates() -> impl Iterator<Item = u16> {
    let [first, second, ..] = RandomState::new().build_hasher().finish().to_ne_bytes();
    RANGE.cycle().skip(u16::from_ne_bytes([first, second]).into()).take(RANGE.len())
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn free_ports_are_different() {
        let ports = free::<8>().unwrap();
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), ports.len(), "{ports:?}");
    }

    #[test]
    fn every_port_of_the_range_is_a_candidate_once() {
        let all: Vec<_> = candidates().collect();
        assert_eq!(all.len(), RANGE.len());
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), RANGE.collect());
    }

    #[test]
    fn a_port_in_use_is_not_free() {
        let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(held.local_addr().unwrap().port()));
    }
}
