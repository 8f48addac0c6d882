//! Upgrades (`websocket`, CONNECT): a route that matches one still refuses it unless it is
//! configured.

use super::path::is_upgrade;
use super::route::{RouteEffect, RouteOutcome};
use super::{Answer, Request, message};
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
            | RouteOutcome::Branches(_) => {
                return None;
            }
            RouteOutcome::Route(decision) => of_route(&decision.route.action, &wanted),
            // A redirect has no upgrades of its own.
            RouteOutcome::RequireTls { .. } => None,
        };
        // "Each upgrade_config … overrides the connection manager's for this route".
        let is_allowed = of_route.or(find(&self.0, &wanted)).unwrap_or(false);
        if is_allowed {
            return None;
        }
        Some(Answer::new(request, 403, &[], "upgrade_failed"))
    }
}

/// One `UpgradeConfig`: its type in lower case, and whether it is enabled.
pub(super) fn config(raw: Raw<'_>) -> (Box<str>, bool) {
    let name = message::text(raw, "upgrade_type").to_ascii_lowercase();
    // "enabled: Determines if upgrades are enabled or disabled by default. Defaults to true."
    let is_enabled = message::optional_flag(raw, "enabled") != Some(false);
    (name.into(), is_enabled)
}

fn of_route(action: &RouteEffect<'_>, wanted: &str) -> Option<bool> {
    match action {
        RouteEffect::Route(action) => find(&action.upgrades, wanted),
        _ => None,
    }
}

fn find(configs: &[(Box<str>, bool)], wanted: &str) -> Option<bool> {
    for (name, is_enabled) in configs {
        if &**name == wanted {
            return Some(*is_enabled);
        }
    }
    None
}

/// The type of upgrade that a request asks for, in lower case.
fn wanted(request: &Request) -> Option<String> {
    if request.method == "CONNECT" {
        return Some("connect".to_owned());
    }
    if !is_upgrade(request) {
        return None;
    }
    let upgrade = request.values("upgrade").next().unwrap_or_default();
    Some(upgrade.to_ascii_lowercase())
}
