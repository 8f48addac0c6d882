//! WasmPlugin.

use super::common::{SELECTOR, TARGET_REF, TARGET_REFS, one_selection};
use super::describe::Type::{Any, Enum, List, Of, Text as TextOf};
use super::describe::{
    INT32, Message, PORT, STRING, Schema, Type, checked, list, may, must, plain,
};
use super::fault::{Flaw, shown};
use super::fields::{all_different, filled, items, text};
use super::text::Text;
use super::walk::Walk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: Schema = Schema {
    kind: Kind::WasmPlugin,
    versions: &["v1alpha1"],
    only: true,
    spec: &SPEC,
};

static SPEC: Message = checked(
    "WasmPlugin",
    &[
        may("failStrategy", FAIL_STRATEGY),
        may("imagePullPolicy", PULL_POLICY),
        may("imagePullSecret", TextOf(Text::AtMost(253))),
        may("match", TRAFFIC_SELECTORS),
        may(
            "phase",
            Enum(&["UNSPECIFIED_PHASE", "AUTHN", "AUTHZ", "STATS"]),
        ),
        may("pluginConfig", Any),
        may("pluginName", TextOf(Text::AtMost(256))),
        may("priority", INT32),
        may("selector", SELECTOR),
        may("sha256", STRING),
        may("targetRef", Of(&TARGET_REF)),
        may("targetRefs", TARGET_REFS),
        may("type", PLUGIN_TYPE),
        must("url", TextOf(Text::Filled)),
        may("verificationKey", STRING),
        may("vmConfig", Of(&VM_CONFIG)),
    ],
    |node, walk| {
        one_selection(node, walk);
        module(node, walk);
    },
);

pub(super) const FAIL_STRATEGY: Type = Enum(&["FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"]);
pub(super) const PULL_POLICY: Type = Enum(&["UNSPECIFIED_POLICY", "IfNotPresent", "Always"]);
pub(super) const PLUGIN_TYPE: Type = Enum(&["UNSPECIFIED_PLUGIN_TYPE", "HTTP", "NETWORK"]);
pub(super) const TRAFFIC_SELECTORS: Type = List(&Of(&TRAFFIC_SELECTOR), 0, usize::MAX);

static TRAFFIC_SELECTOR: Message = plain(
    "TrafficSelector",
    &[
        may(
            "mode",
            Enum(&["UNDEFINED", "CLIENT", "SERVER", "CLIENT_AND_SERVER"]),
        ),
        may("ports", list(&Of(&PORT_SELECTOR))),
    ],
);

static PORT_SELECTOR: Message = plain("PortSelector", &[must("number", PORT)]);

pub(super) static VM_CONFIG: Message = checked(
    "VmConfig",
    &[may("env", List(&Of(&ENV_VAR), 0, 256))],
    |node, walk| {
        all_different(items(node, "env"), |env| env.get("name"), walk);
    },
);

static ENV_VAR: Message = checked(
    "EnvVar",
    &[
        must("name", TextOf(Text::Filled)),
        may("value", TextOf(Text::AtMost(2048))),
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
pub(super) fn module<'n>(node: &'n Node, walk: &mut Walk<'n>) {
    let scheme = text(node, "url")
        .split_once("://")
        .map(|(scheme, _)| scheme);
    if let Some(url) = node
        .get("url")
        .filter(|_| !matches!(scheme, None | Some("" | "file" | "http" | "https" | "oci")))
    {
        walk.fault(
            Flaw::InvalidValue,
            url,
            format!("is {}, not of file, http, https or oci", shown(url)),
        );
    }
    let is_sum =
        |sum: &str| sum.len() == 64 && sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if let Some(sum) = filled(node, "sha256").filter(|sum| !sum.str().is_some_and(is_sum)) {
        walk.fault(Flaw::InvalidValue, sum, "is not 64 of 0-9 and a-f");
    }
}
