//! Free loopback ports, outside the range from which the kernel picks ports for outgoing connections:
//! a stopped component gets its port back when it is started again.
//!
//! It does not reserve anything: between the choice and the bind another process can be faster, and then
//! the whole start is tried again.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};

use crate::Error;

/// Below Linux's `ip_local_port_range` (32768 to 60999).
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_768;

/// `N` different free ports.
pub(crate) fn free<const N: usize>() -> Result<[u16; N], Error> {
    let start = RandomState::new().build_hasher().finish() % u64::from(COUNT);
    let start = u16::try_from(start).unwrap_or_default();
    let mut free = (0..COUNT)
        .map(|step| wrap(start, step))
        .filter(|port| is_free(*port));
    let mut ports = [0; N];
    for port in &mut ports {
        *port = free.next().ok_or(Error::NoPort)?;
    }
    Ok(ports)
}

/// The port `step` places after `start`, staying in the range.
fn wrap(start: u16, step: u16) -> u16 {
    let offset = (u32::from(start).saturating_add(u32::from(step))) % u32::from(COUNT);
    FIRST.saturating_add(u16::try_from(offset).unwrap_or_default())
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_different_and_below_the_ephemeral_range() {
        let ports = free::<8>().unwrap();
        let distinct: std::collections::BTreeSet<_> = ports.iter().collect();
        assert_eq!(distinct.len(), ports.len());
        assert!(
            ports.iter().all(|port| (FIRST..32_768).contains(port)),
            "{ports:?}"
        );
    }

    #[test]
    fn a_port_in_use_is_not_free() {
        let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(held.local_addr().unwrap().port()));
    }

    #[test]
    fn the_range_wraps_around() {
        assert_eq!(wrap(COUNT - 1, 0), 32_767);
        assert_eq!(wrap(COUNT - 1, 1), FIRST);
    }
}
