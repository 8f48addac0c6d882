//! AuthorizationPolicy.

use super::common::{SELECTOR, TARGET_REF, TARGET_REFS};
use super::describe::Type::{Enum, List, Of, Text as TextOf};
use super::describe::{Message, STRING, Schema, Type, checked, list, may, must, plain};
use super::text::Text;
use meshladder_capture::Kind;

mod checks;

pub(super) static SCHEMA: Schema = Schema {
    kind: Kind::AuthorizationPolicy,
    versions: &["v1", "v1beta1"],
    only: true,
    spec: &SPEC,
};

static SPEC: Message = checked(
    "AuthorizationPolicy",
    &[
        may("action", Enum(&["ALLOW", "DENY", "AUDIT", "CUSTOM"])),
        may("provider", Of(&PROVIDER)),
        may("rules", List(&Of(&RULE), 0, 512)),
        may("selector", SELECTOR),
        may("targetRef", Of(&TARGET_REF)),
        may("targetRefs", TARGET_REFS),
    ],
    checks::spec,
);

static PROVIDER: Message = plain("ExtensionProvider", &[may("name", STRING)]);

/// "`from` must not be empty"
static RULE: Message = checked(
    "Rule",
    &[
        may("from", List(&Of(&FROM), 1, 512)),
        may("to", List(&Of(&TO), 1, usize::MAX)),
        may("when", list(&Of(&CONDITION))),
    ],
    checks::rule,
);

static FROM: Message = plain("Rule.From", &[must("source", Of(&SOURCE))]);

static TO: Message = plain("Rule.To", &[must("operation", Of(&OPERATION))]);

/// "empty value not allowed"
const VALUES: Type = list(&TextOf(Text::Filled));
const RANGES: Type = list(&TextOf(Text::Range));
const PORTS: Type = list(&TextOf(Text::PortNumber));
const ACCOUNTS: Type = List(&TextOf(Text::Account), 0, 16);

static SOURCE: Message = checked(
    "Source",
    &[
        may("ipBlocks", RANGES),
        may("namespaces", VALUES),
        may("notIpBlocks", RANGES),
        may("notNamespaces", VALUES),
        may("notPrincipals", VALUES),
        may("notRemoteIpBlocks", RANGES),
        may("notRequestPrincipals", VALUES),
        may("notServiceAccounts", ACCOUNTS),
        may("principals", VALUES),
        may("remoteIpBlocks", RANGES),
        may("requestPrincipals", VALUES),
        may("serviceAccounts", ACCOUNTS),
    ],
    checks::source,
);

static OPERATION: Message = checked(
    "Operation",
    &[
        may("hosts", VALUES),
        may("methods", VALUES),
        may("notHosts", VALUES),
        may("notMethods", VALUES),
        may("notPaths", VALUES),
        may("notPorts", PORTS),
        may("paths", VALUES),
        may("ports", PORTS),
    ],
    checks::operation,
);

static CONDITION: Message = checked(
    "Condition",
    &[
        must("key", TextOf(Text::Filled)),
        may("notValues", VALUES),
        may("values", VALUES),
    ],
    checks::condition,
);
