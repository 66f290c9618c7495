//! `net`: addresses, and networks as `net.IPNet` understands them: an IPv6 text of an IPv4-mapped address stays 16 bytes wide,
//! and yet contains and prints as IPv4.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::GoError;

/// A network: its family as written, its first address as 128 bits (IPv4 in the IPv4-mapped range), and the
/// length of its prefix in its own family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    first: u128,
    prefix: u32,
    wide: bool,
}

/// IPv4 addresses as IPv6 ones start here.
const MAPPED: u128 = 0xffff_0000_0000;

/// Parses an address as `net.ParseIP` does: to 128 bits, IPv4 in the IPv4-mapped range.
#[must_use]
pub fn parse_ip(text: &str) -> Option<u128> {
    text.parse().ok().map(bits_of)
}

/// Parses an address as `net.ParseIP` did before Go 1.17 and `ParseIPSloppy` of `k8s.io/utils/net` does: numbers may
/// begin with zeros.
#[must_use]
pub fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    let mut plain = String::with_capacity(text.len());
    for part in text.split_inclusive(['.', ':']) {
        let digits = part.strip_suffix(['.', ':']).unwrap_or(part);
        let significant = digits.trim_start_matches('0');
        plain.push_str(if significant.is_empty() { digits.get(..1).unwrap_or("") } else { significant });
        plain.push_str(part.get(digits.len()..).unwrap_or(""));
    }
    plain.parse().ok()
}

/// Parses a network as `net.ParseCIDR` did before Go 1.17 and `ParseCIDRSloppy` of `k8s.io/utils/net` does: to the
/// address as written, and the length of the prefix.
#[must_use]
pub fn parse_cidr_sloppy(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let address = parse_ip_sloppy(address)?;
    let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
    let most = if address.is_ipv4() { 32 } else { 128 };
    length.parse().ok().filter(|length| is_number && *length <= most).map(|length| (address, length))
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns true where an address is IPv4 to Go, however it was written.
#[must_use]
pub fn is_v4(bits: u128) -> bool {
    bits & !u128::from(u32::MAX) == MAPPED
}

/// Formats an address as Go does.
#[must_use]
pub fn ip_string(bits: u128) -> String {
    if is_v4(bits) {
        return Ipv4Addr::from_bits(u32::try_from(bits & u128::from(u32::MAX)).unwrap_or_default())
            .to_string();
    }
    Ipv6Addr::from_bits(bits).to_string()
}

/// The bits of a mask with `ones` leading ones, 128 wide.
fn mask(ones: u32) -> u128 {
    u128::MAX.checked_shl(128_u32.saturating_sub(ones)).unwrap_or(0)
}

impl Cidr {
    /// Reads `10.0.0.0/8`; bits beyond the prefix are dropped.
    ///
    /// # Errors
    /// `net.ParseCIDR` refuses the string; in its words.
    pub fn parse(text: &str) -> Result<Self, GoError> {
        let invalid = || GoError(format!("invalid CIDR address: {text}"));
        let (address, length) = text.split_once('/').ok_or_else(invalid)?;
        let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u32 = length.parse().ok().filter(|_| digits).ok_or_else(invalid)?;
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let wide = address.is_ipv6();
        if prefix > if wide { 128 } else { 32 } {
            return Err(invalid());
        }
        Ok(Self::new(bits_of(address), prefix, wide))
    }

    fn new(address: u128, prefix: u32, wide: bool) -> Self {
        let ones = if wide { prefix } else { prefix.saturating_add(96) };
        Self { first: address & mask(ones), prefix, wide }
    }

    /// Returns a network of 128-bit addresses with `ones` leading bits in common, in the family of its first address.
    #[must_use]
    pub fn of_bits(first: u128, ones: u32, wide: bool) -> Self {
        Self { first, prefix: if wide { ones } else { ones.saturating_sub(96) }, wide }
    }

    /// Returns the network of the class of an IPv4 address, as it was before CIDR.
    #[must_use]
    pub fn of_class(address: u128) -> Option<Self> {
        let prefix = match (address >> 24) & 0xff {
            _ if !is_v4(address) => return None,
            0..=0x7f => 8,
            0x80..=0xbf => 16,
            _ => 24,
        };
        // Go keeps the address and applies the mask later: the network prints with its own address.
        Some(Self { first: address, prefix, wide: false })
    }

    /// Returns the first address, IPv4-mapped.
    #[must_use]
    pub fn first(&self) -> u128 {
        self.first
    }

    /// Returns the leading bits that are fixed, counted in 128 bits.
    #[must_use]
    pub fn ones(&self) -> u32 {
        if self.wide { self.prefix } else { self.prefix.saturating_add(96) }
    }

    /// Returns the first and the last address of the range, whatever bits the network carries beyond its prefix.
    #[must_use]
    pub fn range(&self) -> (u128, u128) {
        let mask = mask(self.ones());
        (self.first & mask, self.first | !mask)
    }

    /// Returns the result of `(*net.IPNet).Contains`: an IPv4 address is in no IPv6 network, and the other way round.
    #[must_use]
    pub fn contains_address(&self, address: u128) -> bool {
        if is_v4(self.first) != is_v4(address) {
            return false;
        }
        // A wide network whose first address is IPv4-mapped has a mask of which Go takes the last 32 bits.
        let ones = if is_v4(self.first) { self.ones().max(96) } else { self.ones() };
        address & mask(ones) == self.first & mask(ones)
    }

    /// Returns true where all addresses of another network are in this one.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let plain = |cidr: &Self| cidr.wide && !is_v4(cidr.first);
        if plain(self) && plain(other) {
            return self.prefix <= other.prefix && other.first & mask(self.ones()) == self.first;
        }
        self.contains_address(other.first) && self.contains_address(other.range().1)
    }

    /// Returns how many addresses there are; one less for all of IPv6.
    #[must_use]
    pub fn count(&self) -> u128 {
        let (first, last) = self.range();
        last.saturating_sub(first).saturating_add(1)
    }

    /// Returns the texts of all addresses.
    pub fn addresses(&self) -> impl Iterator<Item = String> + use<> {
        let (first, last) = self.range();
        (first..=last).map(ip_string)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix =
            if self.wide && is_v4(self.first) { self.prefix.saturating_sub(96) } else { self.prefix };
        write!(f, "{}/{prefix}", ip_string(self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sloppy_addresses_may_begin_with_zeros() {
        let parsed = |text| parse_ip_sloppy(text).map(|address| address.to_string());
        assert_eq!(parsed("010.000.0.0001").as_deref(), Some("10.0.0.1"));
        assert_eq!(parsed("00fe80::00001").as_deref(), Some("fe80::1"));
        assert_eq!(parsed("::ffff:010.0.0.1").as_deref(), Some("::ffff:10.0.0.1"));
        for wrong in [
            "",
            "1",
            "1.2.3",
            "1.2.3.256",
            "1.2.3.4.5",
            "1..2.3",
            "0x1.2.3.4",
            "fe80::1%eth0",
            "1:2",
            "+1.2.3.4",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
            assert_eq!(parse_ip(wrong), None, "{wrong}");
        }
        assert_eq!(parse_ip("010.0.0.1"), None);
    }

    #[test]
    fn sloppy_networks_keep_their_address() {
        assert_eq!(parse_cidr_sloppy("010.1.2.3/08"), Some((IpAddr::from([10, 1, 2, 3]), 8)));
        assert_eq!(parse_cidr_sloppy("::/0").map(|(_, length)| length), Some(0));
        for wrong in ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/+8", "x/8", "10.0.0.0/8/8"]
        {
            assert_eq!(parse_cidr_sloppy(wrong), None, "{wrong}");
        }
    }
}
