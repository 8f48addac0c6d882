//! Where a listener listens (`envoy.config.core.v3.SocketAddress`).

use std::net::{IpAddr, Ipv4Addr};

use crate::message;
use meshladder_text::json::Raw;

/// An address and port for TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address; unspecified for all of its family.
    pub ip: IpAddr,
    /// The port.
    pub port: u16,
    /// "When binding to an IPv6 address above, this enables IPv4 compatibility."
    pub ipv4_compat: bool,
}

impl Address {
    /// Reads an `Address`; none for UDP, pipes and internal listeners.
    pub fn read(address: Raw<'_>) -> Option<Self> {
        let socket = address.get("socket_address")?;
        if message::text(socket, "protocol") == "UDP" {
            return None;
        }
        Some(Self {
            ip: socket.string_at("address")?.parse().ok()?,
            port: u16::try_from(message::optional_number(socket, "port_value")?).ok()?,
            ipv4_compat: message::flag(socket, "ipv4_compat"),
        })
    }

    /// The IPv4 address that an IPv6 one takes too.
    pub(super) fn also(&self) -> Option<(IpAddr, u16)> {
        let IpAddr::V6(v6) = self.ip else { return None };
        if !self.ipv4_compat {
            return None;
        }
        let v4 = if v6.is_unspecified() {
            Ipv4Addr::UNSPECIFIED
        } else {
            v6.to_ipv4_mapped()?
        };
        Some((v4.into(), self.port))
    }

    /// Why a connection to an address on the same port went to another listener.
    pub(super) fn why_not(&self, wanted: IpAddr) -> String {
        let takes_family = self.ip.is_ipv6() == wanted.is_ipv6() || self.also().is_some();
        if self.ip.is_unspecified() && takes_family {
            return "another listener has the very address".to_owned();
        }
        format!("listens on {}, the client wants to reach {wanted}", self.ip)
    }
}
