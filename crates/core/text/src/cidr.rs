//! Address ranges (`envoy.config.core.v3.CidrRange`).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::json::Raw;

/// A range of addresses of one family. Ordered by family, address and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cidr {
    is_v6: bool,
    /// The address in the high bits, with everything behind the prefix cleared.
    bits: u128,
    length: u8,
}

impl Cidr {
    /// The range of this many leading bits; a length beyond the family's is the whole address, as
    /// Envoy has it.
    pub fn new(address: IpAddr, length: u8) -> Self {
        let (is_v6, bits) = bits_of(address);
        let length = length.min(if is_v6 { 128 } else { 32 });
        Self {
            is_v6,
            bits: bits & mask(length),
            length,
        }
    }

    /// Reads a `CidrRange`; none when the address is no IP address.
    pub fn read(range: Raw<'_>) -> Option<Self> {
        let address = range.string_at("address_prefix")?.parse().ok()?;
        let length = range.get("prefix_len").and_then(Raw::number).unwrap_or(0);
        Some(Self::new(address, u8::try_from(length).unwrap_or(u8::MAX)))
    }

    /// Whether the address lies in the range. An IPv4 address is never in an IPv6 range.
    pub fn contains(self, address: IpAddr) -> bool {
        let (is_v6, bits) = bits_of(address);
        is_v6 == self.is_v6 && bits & mask(self.length) == self.bits
    }

    /// How many leading bits count; the longest range that contains an address is the most specific
    /// one.
    pub fn length(self) -> u8 {
        self.length
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address: IpAddr = if self.is_v6 {
            Ipv6Addr::from_bits(self.bits).into()
        } else {
            Ipv4Addr::from_bits(u32::try_from(self.bits >> 96).expect("32 bits are left")).into()
        };
        write!(f, "{address}/{}", self.length)
    }
}

fn bits_of(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(v4) => (false, u128::from(v4.to_bits()) << 96),
        IpAddr::V6(v6) => (true, v6.to_bits()),
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        let (address, length) = text.split_once('/').expect("a slash");
        let doc = format!(r#"{{"address_prefix":"{address}","prefix_len":{length}}}"#);
        Cidr::read(Raw::of(&doc).expect("JSON")).expect("a range")
    }

    #[test]
    fn a_range_holds_its_own_family_only() {
        for (range, inside, outside) in [
            ("10.1.0.0/16", "10.1.255.255", "10.2.0.0"),
            ("10.1.2.3/32", "10.1.2.3", "10.1.2.2"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::/0", "::ffff:10.0.0.1", "10.0.0.1"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::1/128", "::1", "::2"),
        ] {
            let is_in = |address: &str| cidr(range).contains(address.parse().expect("an address"));
            assert!(
                is_in(inside) && !is_in(outside),
                "{range}: {inside}, not {outside}"
            );
        }
    }

    #[test]
    fn bits_behind_the_prefix_do_not_count() {
        assert_eq!(cidr("10.1.2.3/16"), cidr("10.1.0.0/16"));
        assert_eq!(cidr("10.1.2.3/16").to_string(), "10.1.0.0/16");
        assert_eq!(cidr("10.1.2.3/77").to_string(), "10.1.2.3/32");
        assert_eq!(cidr("fd00::1/8").to_string(), "fd00::/8");
    }

    #[test]
    fn a_length_that_is_not_given_is_zero() {
        let everything = Cidr::read(Raw::of(r#"{"address_prefix":"10.0.0.0"}"#).expect("JSON"));
        assert_eq!(
            everything.map(|range| range.to_string()).as_deref(),
            Some("0.0.0.0/0")
        );
    }
}
