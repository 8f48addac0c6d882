//! Who the client is to HTTP filters: the other end of the socket, or what `x-forwarded-for` says.

use std::net::IpAddr;

use crate::RequestState;
use crate::message;
use crate::state::RemoteAddress;
use meshladder_text::json::Raw;

/// How a connection manager finds the client's address.
#[derive(Debug)]
pub(super) struct ClientAddress {
    use_remote_address: bool,
    xff_num_trusted_hops: usize,
    /// An extension finds it: the missing fact.
    detected: Option<Box<str>>,
}

impl ClientAddress {
    pub(super) fn compile(manager: Raw<'_>) -> Self {
        let hops = message::number(manager, "xff_num_trusted_hops");
        let mut extensions = manager.list("original_ip_detection_extensions");
        Self {
            use_remote_address: message::flag(manager, "use_remote_address"),
            xff_num_trusted_hops: usize::try_from(hops).unwrap_or(usize::MAX),
            detected: extensions.next().map(detected_by),
        }
    }

    /// "`use_remote_address`: the connection manager will use the real remote address of the client
    /// connection"; with trusted hops, or without it, an address of `x-forwarded-for` counted from
    /// the right.
    pub(super) fn of(&self, state: &RequestState<'_>) -> RemoteAddress {
        if let Some(fact) = &self.detected {
            return Err(fact.clone());
        }
        let skipped = match (self.use_remote_address, self.xff_num_trusted_hops) {
            (true, 0) => return state.remote.clone(),
            // Envoy has appended the other end of the socket itself, which is one of the hops.
            (true, hops) => hops - 1,
            (false, hops) => hops,
        };

        // Several lines of the header count as one list.
        let lines = state.request.header("x-forwarded-for");
        if lines.is_empty() {
            return Err("the header x-forwarded-for".into());
        }
        match forwarded(&lines.join(","), skipped) {
            Some(ip) => Ok(ip),
            None => state.remote.clone(),
        }
    }
}

fn forwarded(header: &str, skipped: usize) -> Option<IpAddr> {
    header.rsplit(',').nth(skipped)?.trim().parse().ok()
}

fn detected_by(extension: Raw<'_>) -> Box<str> {
    let name = message::text(extension, "name");
    format!("the client's address, which {name} finds").into()
}
