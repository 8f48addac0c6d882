//! Upgrades (`websocket`, CONNECT): a route that matches one still refuses it unless it is
//! configured.

use super::path::is_upgrade;
use super::route::{RouteEffect, RouteOutcome};
use super::{Answer, Request};
use meshladder_text::json::Raw;

/// The `upgrade_configs` of an `HttpConnectionManager`.
#[derive(Clone, Debug, Default)]
pub struct Upgrades(Vec<(Box<str>, bool)>);

impl Upgrades {
    /// Compiles an `HttpConnectionManager`.
    pub fn compile(manager: Raw<'_>) -> Self {
        Self(manager.list("upgrade_configs").map(config).collect())
    }

    /// The answer to a request whose upgrade is not allowed. Without a route there is none: that is
    /// a 404.
    pub fn refusal(&self, request: &Request, routed: &RouteOutcome<'_, '_>) -> Option<Answer> {
        let wanted = wanted(request)?;
        let of_route = match routed {
            RouteOutcome::NoRoute { .. }
            | RouteOutcome::Undecided { .. }
            | RouteOutcome::Branches(_) => return None,
            RouteOutcome::Route(decision) => match &decision.route.action {
                RouteEffect::Route(action) => find(&action.upgrades, &wanted),
                _ => None,
            },
            RouteOutcome::RequireTls { .. } => None,
        };
        // "Each upgrade_config … overrides the connection manager's for this route".
        let is_allowed = of_route
            .or_else(|| find(&self.0, &wanted))
            .unwrap_or_default();
        (!is_allowed).then(|| Answer::new(request, 403, &[], "upgrade_failed"))
    }
}

/// One `UpgradeConfig`: its type in lower case, and whether it is enabled.
pub(super) fn config(raw: Raw<'_>) -> (Box<str>, bool) {
    let name = raw
        .string_at("upgrade_type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    (
        name.into(),
        raw.get("enabled").and_then(Raw::bool).unwrap_or(true),
    )
}

fn find(configs: &[(Box<str>, bool)], wanted: &str) -> Option<bool> {
    configs
        .iter()
        .find(|(name, _)| &**name == wanted)
        .map(|(_, enabled)| *enabled)
}

/// The type of upgrade that a request asks for, in lower case.
fn wanted(request: &Request) -> Option<String> {
    if request.method == "CONNECT" {
        return Some("connect".to_owned());
    }
    is_upgrade(request).then(|| {
        request
            .values("upgrade")
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    })
}
