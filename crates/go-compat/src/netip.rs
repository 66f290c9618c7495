//! `net/netip`: a prefix as it is written, whose address may have bits behind it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `netip.Prefix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Parses a prefix as `netip.ParsePrefix` does; returns `None` where that returns an error.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.rsplit_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let is_plain =
            bits.bytes().all(|byte| byte.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.parse().ok()?;
        (is_plain && bits <= most).then_some(Self { address, bits })
    }

    /// Returns the address as written.
    #[must_use]
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Returns the length of the prefix.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Returns the result of `Prefix.Masked`: the bits behind the prefix are zero.
    #[must_use]
    pub fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(u32::from(self.bits))).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(u32::from(self.bits))).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Self { address, ..self }
    }

    /// Returns the result of `Prefix.Contains`: addresses of the other family are in no prefix.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let other = Self { address, bits: self.bits };
        address.is_ipv4() == self.address.is_ipv4() && other.masked().address == self.masked().address
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}
