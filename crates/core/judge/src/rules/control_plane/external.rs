//! Webhooks that an istiod outside the cluster may serve.

use super::hooks::{self, Hook};
use meshladder_capture::Kind;
use meshladder_mesh::{Mesh, Object};

/// The webhooks of the configurations that Istio installs.
pub(super) fn istios(mesh: &Mesh) -> impl Iterator<Item = Hook<'_>> {
    let validates = |config: &&Object| {
        config.id.name == "istiod-default-validator"
            || config.id.name.starts_with("istio-validator")
    };
    let injects = |config: &&Object| config.id.name.starts_with("istio-sidecar-injector");
    let validating = mesh
        .objects
        .of_kind(Kind::ValidatingWebhook)
        .iter()
        .filter(validates);
    validating
        .chain(
            mesh.objects
                .of_kind(Kind::MutatingWebhook)
                .iter()
                .filter(injects),
        )
        .flat_map(hooks::of)
}

/// The host of a URL, without brackets; none when it has none or cannot be read.
pub(super) fn host(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let address = authority
        .rsplit_once('@')
        .map_or(authority, |(_, address)| address);
    let (host, port) = match address.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => address
            .find(':')
            .map_or((address, ""), |at| address.split_at(at)),
    };
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')?
            .bytes()
            .all(|byte| byte.is_ascii_digit());
    let is_host = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control());
    (!scheme.is_empty() && is_host && is_port).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn the_host_of_a_url_is_what_a_client_connects_to() {
        for (url, expected) in [
            (
                "https://istiod.example.com:15017/inject",
                Some("istiod.example.com"),
            ),
            ("https://istiod.example.com", Some("istiod.example.com")),
            ("https://192.0.2.7:15017/validate", Some("192.0.2.7")),
            ("https://[2001:db8::7]:15017/", Some("2001:db8::7")),
            ("https://u@a.example.com/?x=http://b", Some("a.example.com")),
            ("https://", None),
            ("", None),
            ("istiod.example.com", None),
            ("https://a.example.com:port/", None),
            ("https://a b/", None),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }
}
