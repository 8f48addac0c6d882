//! ProxyConfig.

use super::common::SELECTOR;
use super::describe::Type::{Map, Of};
use super::describe::{COUNT, Message, STRING, Schema, may, plain};
use super::text::Text;
use meshladder_capture::Kind;

pub(super) static SCHEMA: Schema = Schema {
    kind: Kind::ProxyConfig,
    versions: &["v1beta1"],
    only: true,
    spec: &SPEC,
};

static SPEC: Message = plain(
    "ProxyConfig",
    &[
        may("concurrency", COUNT),
        may("environmentVariables", Map(Text::Free, &STRING)),
        may("image", Of(&IMAGE)),
        may("selector", SELECTOR),
    ],
);

static IMAGE: Message = plain("ProxyImage", &[may("imageType", STRING)]);
