//! ProxyConfig.

use super::common::SELECTOR;
use super::describe::Type::{Map, Of};
use super::describe::{COUNT, KindSchema, Message, STRING, may, plain};
use super::text::Text;

pub(super) static KIND: KindSchema = KindSchema {
    kind: "ProxyConfig",
    group: "networking.istio.io",
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
