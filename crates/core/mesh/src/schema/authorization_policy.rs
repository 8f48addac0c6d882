//! AuthorizationPolicy.

use super::common::{SELECTOR, TARGET_REF, TARGET_REFS};
use super::describe::FieldType::{Enum, List, Of, Text as TextOf};
use super::describe::{
    FieldType, KindSchema, MessageSchema, STRING, checked, list, may, must, plain,
};
use super::text::TextRule;
use meshladder_capture::Kind;

mod checks;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::AuthorizationPolicy,
    versions: &["v1", "v1beta1"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
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

static PROVIDER: MessageSchema = plain("ExtensionProvider", &[may("name", STRING)]);

/// "`from` must not be empty"
static RULE: MessageSchema = checked(
    "Rule",
    &[
        may("from", List(&Of(&FROM), 1, 512)),
        may("to", List(&Of(&TO), 1, usize::MAX)),
        may("when", list(&Of(&CONDITION))),
    ],
    checks::rule,
);

static FROM: MessageSchema = plain("Rule.From", &[must("source", Of(&SOURCE))]);

static TO: MessageSchema = plain("Rule.To", &[must("operation", Of(&OPERATION))]);

/// "empty value not allowed"
const VALUES: FieldType = list(&TextOf(TextRule::Filled));
const RANGES: FieldType = list(&TextOf(TextRule::Range));
const PORTS: FieldType = list(&TextOf(TextRule::PortNumber));
const ACCOUNTS: FieldType = List(&TextOf(TextRule::Account), 0, 16);

static SOURCE: MessageSchema = checked(
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

static OPERATION: MessageSchema = checked(
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

static CONDITION: MessageSchema = checked(
    "Condition",
    &[
        must("key", TextOf(TextRule::Filled)),
        may("notValues", VALUES),
        may("values", VALUES),
    ],
    checks::condition,
);
