//! ProxyConfig.

use super::common::SELECTOR;
use super::describe::FieldType::{Map, Of};
use super::describe::{COUNT, KindSchema, MessageSchema, STRING, may, plain};
use super::text::TextRule;
use meshladder_capture::Kind;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::ProxyConfig,
    versions: &["v1beta1"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = plain(
    "ProxyConfig",
    &[
        may("concurrency", COUNT),
        may("environmentVariables", Map(TextRule::Free, &STRING)),
        may("image", Of(&IMAGE)),
        may("selector", SELECTOR),
    ],
);

static IMAGE: MessageSchema = plain("ProxyImage", &[may("imageType", STRING)]);
