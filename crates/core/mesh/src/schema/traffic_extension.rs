//! TrafficExtension.

use super::common::{SELECTOR, TARGET_REFS};
use super::describe::FieldType::{Any, Enum, Of, Text as TextOf};
use super::describe::{INT32, KindSchema, MessageSchema, STRING, checked, may, must, plain};
use super::fields::{at_least_one, at_most_one};
use super::text::TextRule;
use super::wasm_plugin::{
    FAIL_STRATEGY, PLUGIN_TYPE, PULL_POLICY, TRAFFIC_SELECTORS, VM_CONFIG, module,
};
use meshladder_capture::Kind;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::TrafficExtension,
    versions: &["v1alpha1"],
    only: false,
    spec: &SPEC,
};

const PHASES: &[&str] = &[
    "EXECUTION_PHASE_UNSPECIFIED",
    "EXECUTION_PHASE_AUTHN",
    "EXECUTION_PHASE_AUTHZ",
    "EXECUTION_PHASE_STATS",
    "UNSPECIFIED",
    "AUTHN",
    "AUTHZ",
    "STATS",
];

static SPEC: MessageSchema = checked(
    "TrafficExtension",
    &[
        may("lua", Of(&LUA)),
        may("match", TRAFFIC_SELECTORS),
        may("phase", Enum(PHASES)),
        may("priority", INT32),
        may("selector", SELECTOR),
        may("targetRefs", TARGET_REFS),
        may("wasm", Of(&WASM)),
    ],
    |node, walk| {
        at_most_one(node, &["selector", "targetRefs"], walk);
        at_most_one(node, &["wasm", "lua"], walk);
        at_least_one(node, &["wasm", "lua"], walk);
    },
);

static LUA: MessageSchema = plain(
    "LuaConfig",
    &[must("inlineCode", TextOf(TextRule::AtMost(65536)))],
);

static WASM: MessageSchema = checked(
    "WasmConfig",
    &[
        may("failStrategy", FAIL_STRATEGY),
        may("imagePullPolicy", PULL_POLICY),
        may("imagePullSecret", TextOf(TextRule::AtMost(253))),
        may("pluginConfig", Any),
        may("pluginName", TextOf(TextRule::AtMost(256))),
        may("sha256", STRING),
        may("type", PLUGIN_TYPE),
        must("url", TextOf(TextRule::Filled)),
        may("verificationKey", STRING),
        may("vmConfig", Of(&VM_CONFIG)),
    ],
    module,
);
