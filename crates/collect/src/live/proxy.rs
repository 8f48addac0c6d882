//! Which proxy leads to an API server: the one the kubeconfig names, else what the environment
//! says, read as kubectl does.

use std::net::IpAddr;

use http::Uri;
use meshladder_text::cidr::Cidr;

/// The proxy for a server; `env` looks up a variable.
///
/// # Errors
/// When what is named is no URL.
pub(crate) fn choose(
    named: Option<&str>,
    server: &Uri,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Option<Uri>, String> {
    let either = |name: &str| {
        env(name)
            .or_else(|| env(&name.to_lowercase()))
            .filter(|value| !value.is_empty())
    };
    let of_server = if server.scheme_str() == Some("http") {
        "HTTP_PROXY"
    } else {
        "HTTPS_PROXY"
    };
    let excepted = || is_excepted(server, &either("NO_PROXY").unwrap_or_default());
    // What stands in the kubeconfig counts for its cluster alone: nothing in the environment
    // excepts it.
    let named = named.filter(|named| !named.is_empty()).map(str::to_owned);
    let Some(text) = named.or_else(|| either(of_server).filter(|_| !excepted())) else {
        return Ok(None);
    };
    let url = if text.contains("://") {
        text
    } else {
        format!("http://{text}")
    };
    // The names of servers are resolved by the proxy in any case.
    let url = url.replacen("socks5h://", "socks5://", 1);
    url.parse()
        .map(Some)
        .map_err(|_| "the proxy that is named is no URL".to_owned())
}

fn is_excepted(server: &Uri, exceptions: &str) -> bool {
    let host = server
        .host()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    let port = server
        .port_u16()
        .unwrap_or(if server.scheme_str() == Some("http") {
            80
        } else {
            443
        });
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    exceptions
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .any(|entry| {
            if entry == "*" {
                return true;
            }
            if let (Some(address), Some(range)) = (address, range(entry)) {
                return range.contains(address);
            }
            let (name, of_port) = match entry.rsplit_once(':') {
                Some((name, of_port)) if !name.contains(':') || name.ends_with(']') => {
                    (name, of_port.parse().ok())
                }
                _ => (entry, None),
            };
            let name = name
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_ascii_lowercase();
            of_port.is_none_or(|of_port: u16| of_port == port) && is_name(&host, &name)
        })
}

fn range(entry: &str) -> Option<Cidr> {
    let (address, length) = entry.split_once('/')?;
    Some(Cidr::new(address.parse().ok()?, length.parse().ok()?))
}

/// "A domain name matches that name and all subdomains. A domain name with a leading `.` matches
/// subdomains only."
fn is_name(host: &str, name: &str) -> bool {
    let name = name.strip_prefix('*').unwrap_or(name);
    match name.strip_prefix('.') {
        Some(_) => host.ends_with(name),
        None => {
            host == name
                || host
                    .strip_suffix(name)
                    .is_some_and(|before| before.ends_with('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(named: Option<&str>, server: &str, env: &[(&str, &str)]) -> Option<String> {
        let look = |name: &str| {
            env.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        choose(named, &server.parse().expect("a URL"), look)
            .expect("a proxy")
            .map(|uri| uri.to_string())
    }

    #[test]
    fn the_environment_counts_where_the_kubeconfig_names_no_proxy() {
        let env = [
            ("HTTPS_PROXY", "proxy.corp:3128"),
            ("http_proxy", "http://plain:1"),
        ];
        assert_eq!(
            chosen(None, "https://k8s.corp:6443", &env).as_deref(),
            Some("http://proxy.corp:3128/")
        );
        assert_eq!(
            chosen(None, "http://k8s.corp:6443", &env).as_deref(),
            Some("http://plain:1/")
        );
        assert_eq!(
            chosen(Some("socks5h://s:1"), "https://k8s.corp", &env).as_deref(),
            Some("socks5://s:1/")
        );
        assert_eq!(chosen(Some(""), "https://k8s.corp", &[]), None);
    }

    #[test]
    fn what_no_proxy_excepts_is_asked_directly() {
        let table = [
            ("https://k8s.corp:6443", "corp", true),
            ("https://k8s.corp:6443", ".corp", true),
            ("https://k8s.corp:6443", "*.corp", true),
            ("https://corp:6443", ".corp", false),
            ("https://k8scorp", "corp", false),
            ("https://k8s.corp:6443", "k8s.corp:6443", true),
            ("https://k8s.corp:6443", "k8s.corp:443", false),
            ("https://10.1.2.3", "10.0.0.0/8", true),
            ("https://11.1.2.3", "10.0.0.0/8, 11.1.2.3", true),
            ("https://11.1.2.3", "10.0.0.0/8", false),
            ("https://[fd00::1]:6443", "fd00::1", true),
            ("https://[fd00::1]:6443", "fd00::/8", true),
            ("https://127.0.0.1:6443", "", true),
            ("https://localhost:6443", "", true),
            ("https://k8s.corp", "*", true),
        ];
        for (server, exceptions, is_direct) in table {
            let env = [("https_proxy", "http://proxy:1"), ("no_proxy", exceptions)];
            assert_eq!(
                chosen(None, server, &env).is_none(),
                is_direct,
                "{server} {exceptions}"
            );
            assert!(chosen(Some("http://named:1"), server, &env).is_some());
        }
    }
}
