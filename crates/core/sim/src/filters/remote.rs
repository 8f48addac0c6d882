//! Who the client is to HTTP filters: the other end of the socket, or what `x-forwarded-for` says.

use std::net::IpAddr;

use crate::RequestState;
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
        let hops = manager
            .get("xff_num_trusted_hops")
            .and_then(Raw::number)
            .unwrap_or_default();
        let extension = manager.list("original_ip_detection_extensions").next();
        Self {
            use_remote_address: manager
                .get("use_remote_address")
                .and_then(Raw::bool)
                .unwrap_or_default(),
            xff_num_trusted_hops: usize::try_from(hops).unwrap_or(usize::MAX),
            detected: extension.map(|extension| {
                let name = extension.string_at("name").unwrap_or_default();
                format!("the client's address, which {name} finds").into()
            }),
        }
    }

    /// "`use_remote_address`: the connection manager will use the real remote address of the client
    /// connection"; with trusted hops, or without it, an address of `x-forwarded-for` counted from
    /// the right.
    pub(super) fn of(&self, state: &RequestState<'_>) -> RemoteAddress {
        let skipped = match (
            &self.detected,
            self.use_remote_address,
            self.xff_num_trusted_hops,
        ) {
            (Some(fact), _, _) => return Err(fact.clone()),
            (None, true, 0) => return state.remote.clone(),
            (None, true, hops) => hops - 1,
            (None, false, hops) => hops,
        };
        let lines = state.request.header("x-forwarded-for");
        if lines.is_empty() {
            return Err("the header x-forwarded-for".into());
        }
        forwarded(&lines.join(","), skipped).map_or_else(|| state.remote.clone(), Ok)
    }
}

fn forwarded(header: &str, skipped: usize) -> Option<IpAddr> {
    header.rsplit(',').nth(skipped)?.trim().parse().ok()
}
