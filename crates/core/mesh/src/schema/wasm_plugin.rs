//! WasmPlugin.

use super::common::{SELECTOR, TARGET_REF, TARGET_REFS, one_selection};
use super::describe::FieldType::{Any, Enum, List, Of, Text as TextOf};
use super::describe::{
    FieldType, INT32, KindSchema, MessageSchema, PORT, STRING, checked, list, may, must, plain,
};
use super::fault::Flaw;
use super::fields::{all_different, filled, items, text};
use super::text::TextRule;
use super::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::WasmPlugin,
    versions: &["v1alpha1"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "WasmPlugin",
    &[
        may("failStrategy", FAIL_STRATEGY),
        may("imagePullPolicy", PULL_POLICY),
        may("imagePullSecret", TextOf(TextRule::AtMost(253))),
        may("match", TRAFFIC_SELECTORS),
        may(
            "phase",
            Enum(&["UNSPECIFIED_PHASE", "AUTHN", "AUTHZ", "STATS"]),
        ),
        may("pluginConfig", Any),
        may("pluginName", TextOf(TextRule::AtMost(256))),
        may("priority", INT32),
        may("selector", SELECTOR),
        may("sha256", STRING),
        may("targetRef", Of(&TARGET_REF)),
        may("targetRefs", TARGET_REFS),
        may("type", PLUGIN_TYPE),
        must("url", TextOf(TextRule::Filled)),
        may("verificationKey", STRING),
        may("vmConfig", Of(&VM_CONFIG)),
    ],
    |node, walk| {
        one_selection(node, walk);
        module(node, walk);
    },
);

pub(super) const FAIL_STRATEGY: FieldType = Enum(&["FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"]);
pub(super) const PULL_POLICY: FieldType = Enum(&["UNSPECIFIED_POLICY", "IfNotPresent", "Always"]);
pub(super) const PLUGIN_TYPE: FieldType = Enum(&["UNSPECIFIED_PLUGIN_TYPE", "HTTP", "NETWORK"]);
pub(super) const TRAFFIC_SELECTORS: FieldType = List(&Of(&TRAFFIC_SELECTOR), 0, usize::MAX);

static TRAFFIC_SELECTOR: MessageSchema = plain(
    "TrafficSelector",
    &[
        may(
            "mode",
            Enum(&["UNDEFINED", "CLIENT", "SERVER", "CLIENT_AND_SERVER"]),
        ),
        may("ports", list(&Of(&PORT_SELECTOR))),
    ],
);

static PORT_SELECTOR: MessageSchema = plain("PortSelector", &[must("number", PORT)]);

pub(super) static VM_CONFIG: MessageSchema = checked(
    "VmConfig",
    &[may("env", List(&Of(&ENV_VAR), 0, 256))],
    |node, walk| {
        all_different(items(node, "env"), |env| env.get("name"), walk);
    },
);

static ENV_VAR: MessageSchema = checked(
    "EnvVar",
    &[
        must("name", TextOf(TextRule::Filled)),
        may("value", TextOf(TextRule::AtMost(2048))),
        may("valueFrom", Enum(&["INLINE", "HOST"])),
    ],
    |node, walk| {
        if let Some(value) = filled(node, "value").filter(|_| text(node, "valueFrom") == "HOST") {
            walk.fault(
                Flaw::Misfit,
                value,
                "is set, and valueFrom HOST takes the proxy's own",
            );
        }
    },
);

/// "url contains unsupported scheme", "sha256 field must match [a-f0-9]{64} pattern"
pub(super) fn module<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let scheme = text(node, "url")
        .split_once("://")
        .map(|(scheme, _)| scheme);
    if let Some(url) = node
        .get("url")
        .filter(|_| !matches!(scheme, None | Some("" | "file" | "http" | "https" | "oci")))
    {
        walk.value_fault(Flaw::InvalidValue, url, "not of file, http, https or oci");
    }
    let is_sum =
        |sum: &str| sum.len() == 64 && sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if let Some(sum) = filled(node, "sha256").filter(|sum| !sum.str().is_some_and(is_sum)) {
        walk.fault(Flaw::InvalidValue, sum, "is not 64 of 0-9 and a-f");
    }
}
