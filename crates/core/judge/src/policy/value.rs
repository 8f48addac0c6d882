//! The values of a policy's fields, as istiod writes them for Envoy.

use std::net::IpAddr;

use super::Traffic;
use meshladder_sim::jwt::NAMESPACE;
use meshladder_sim::matcher::{HeaderMatcher, StringMatcher, UriTemplate};
use meshladder_sim::rbac::{MetadataMatcher, RbacCondition, RbacRule, ValueMatcher};
use meshladder_text::cidr::Cidr;
use meshladder_text::json::Raw;
use meshladder_text::tree::Value;

/// A field of a rule, and what it looks at.
#[derive(Clone, Copy, Debug)]
pub(super) enum PolicyField<'f> {
    Principals,
    Namespaces,
    /// With the policy's namespace, which is the default one.
    ServiceAccounts(&'f str),
    TrustDomains,
    RequestPrincipals,
    IpBlocks,
    RemoteIpBlocks,
    Hosts,
    Methods,
    Paths,
    Ports,
    DestinationIp,
    Sni,
    /// `request.headers[NAME]`
    Header(&'f str),
    /// `request.auth.claims[A][B]`
    Claims(&'f str),
    Audiences,
    Presenter,
    /// `experimental.envoy.filters.NAME[KEY]`
    EnvoyFilter(&'f str),
}

impl PolicyField<'_> {
    /// Whether it is about who calls; the others are about what is done.
    pub(super) fn is_principal(self) -> bool {
        !matches!(
            self,
            Self::Hosts
                | Self::Methods
                | Self::Paths
                | Self::Ports
                | Self::DestinationIp
                | Self::Sni
                | Self::EnvoyFilter(_)
        )
    }

    /// What a value asks for; none when istiod cannot say it to Envoy, as with fields of HTTP for
    /// TCP.
    pub(super) fn compile(self, value: &str, traffic: Traffic) -> Option<RbacRule> {
        let is_http_only = matches!(
            self,
            Self::RequestPrincipals
                | Self::Hosts
                | Self::Methods
                | Self::Paths
                | Self::Header(_)
                | Self::Claims(_)
                | Self::Audiences
                | Self::Presenter
        );
        if is_http_only && traffic == Traffic::Tcp {
            return None;
        }
        Some(match self {
            Self::RequestPrincipals => request_principal(value),
            Self::Claims(path) => claim(&nested(path)?, value),
            Self::Audiences => claim(&["aud"], value),
            Self::Presenter => claim(&["azp"], value),
            _ => RbacRule::Condition(self.condition(value)?),
        })
    }

    fn condition(self, value: &str) -> Option<RbacCondition> {
        let name = |pattern: StringMatcher| RbacCondition::Authenticated(Some(pattern));
        Some(match self {
            Self::Principals => name(prefixed(value, "spiffe://")),
            Self::Namespaces => name(StringMatcher::regex(&format!(
                ".*/ns/{}/.*",
                value.replace('*', ".*")
            ))),
            Self::ServiceAccounts(namespace) => {
                name(StringMatcher::regex(&service_account(namespace, value)))
            }
            Self::TrustDomains if value.contains('*') => {
                RbacCondition::Unmodelled(format!("which trust domains `{value}` selects").into())
            }
            Self::TrustDomains => name(StringMatcher::prefix(&format!("spiffe://{value}/"))),
            Self::IpBlocks => RbacCondition::DirectRemoteIp(range(value)?),
            Self::RemoteIpBlocks => RbacCondition::RemoteIp(range(value)?),
            Self::DestinationIp => RbacCondition::DestinationIp(range(value)?),
            Self::Ports => {
                let port = value.parse::<u16>().ok().map(u32::from)?;
                RbacCondition::DestinationPort(port..port + 1)
            }
            Self::Sni => RbacCondition::ServerName(plain(value)),
            Self::Hosts => RbacCondition::Header(header(":authority", value, true)?),
            Self::Methods => RbacCondition::Header(header(":method", value, false)?),
            Self::Header(name) => RbacCondition::Header(header(bracketed(name)?, value, false)?),
            // "{*}" and "{**}" are istiod's way to write Envoy's "*" and "**".
            Self::Paths if value.contains("{*}") || value.contains("{**}") => {
                RbacCondition::UriTemplate(UriTemplate::compile(
                    &value.replace("{**}", "**").replace("{*}", "*"),
                ))
            }
            Self::Paths => RbacCondition::UrlPath(plain(value)),
            Self::EnvoyFilter(key) => envoy_filter(key, value)?,
            Self::RequestPrincipals | Self::Claims(_) | Self::Audiences | Self::Presenter => {
                return None;
            }
        })
    }
}

/// `*` is any text but none, `*x` a suffix, `x*` a prefix.
fn plain(value: &str) -> StringMatcher {
    prefixed(value, "")
}

fn prefixed(value: &str, prefix: &str) -> StringMatcher {
    match (value, value.strip_prefix('*'), value.strip_suffix('*')) {
        ("*", _, _) => StringMatcher::regex(".+"),
        (_, Some(suffix), _) if prefix.is_empty() => StringMatcher::suffix(suffix),
        // The suffix goes into the expression as it is.
        (_, Some(suffix), _) => StringMatcher::regex(&format!("{prefix}.*{suffix}")),
        (_, None, Some(start)) => StringMatcher::prefix(&format!("{prefix}{start}")),
        (_, None, None) => StringMatcher::exact(&format!("{prefix}{value}")),
    }
}

fn header(name: &str, value: &str, ignore_case: bool) -> Option<HeaderMatcher> {
    let (kind, text) = match (value, value.strip_prefix('*'), value.strip_suffix('*')) {
        ("*", _, _) => ("", ""),
        (_, Some(suffix), _) => ("suffix", suffix),
        (_, None, Some(prefix)) => ("prefix", prefix),
        (_, None, None) => ("exact", value),
    };
    let specifier = if kind.is_empty() {
        ("present_match", true.into())
    } else {
        let matcher = [
            (kind, Value::from(text)),
            ("ignore_case", ignore_case.into()),
        ];
        ("string_match", Value::object(matcher))
    };
    let matcher = Value::object([("name", name.into()), specifier]).to_json();
    Some(HeaderMatcher::compile(Raw::of(&matcher).ok()?))
}

/// `1.2.3.4` or `1.2.0.0/16`
fn range(value: &str) -> Option<Cidr> {
    let (address, length) = value.split_once('/').unwrap_or((value, ""));
    let address: IpAddr = address.parse().ok()?;
    let whole = if address.is_ipv6() { 128 } else { 32 };
    let length = if length.is_empty() {
        whole
    } else {
        length.parse().ok().filter(|n| *n <= whole)?
    };
    Some(Cidr::new(address, length))
}

/// "The specifier takes a `<name>` or `<namespace>/<name>` value."
fn service_account(policy_namespace: &str, value: &str) -> String {
    let (namespace, account) = value.split_once('/').unwrap_or((policy_namespace, value));
    format!("spiffe://.+/ns/{namespace}/(.+/|)sa/{account}(/.+)?")
}

/// Issuer and subject: "Use the last index of "/" since issuer may be an URL".
fn request_principal(value: &str) -> RbacRule {
    let any = || StringMatcher::regex(".+");
    let split = value.rsplit_once('/');
    let (issuer, subject) = match (value.strip_prefix('*'), value.strip_suffix('*'), split) {
        _ if value == "*" => (any(), any()),
        (Some(_), _, Some(("*", subject))) => (any(), StringMatcher::exact(subject)),
        (Some(_), _, Some((issuer, subject))) => (
            StringMatcher::suffix(issuer.trim_start_matches('*')),
            StringMatcher::exact(subject),
        ),
        (Some(suffix), _, None) => (any(), StringMatcher::suffix(suffix)),
        (None, Some(_), Some((issuer, "*"))) => (StringMatcher::exact(issuer), any()),
        (None, Some(_), Some((issuer, subject))) => (
            StringMatcher::exact(issuer),
            StringMatcher::prefix(subject.trim_end_matches('*')),
        ),
        (None, Some(prefix), None) => (StringMatcher::prefix(prefix), any()),
        (None, None, split) => {
            let (issuer, subject) = split.unwrap_or((value, ""));
            (StringMatcher::exact(issuer), StringMatcher::exact(subject))
        }
    };
    let of = |claim: &str, matcher| metadata(&["payload", claim], ValueMatcher::String(matcher));
    RbacRule::And(vec![of("iss", issuer), of("sub", subject)])
}

/// A claim is a text or a list with one such text in it.
fn claim(path: &[&str], value: &str) -> RbacRule {
    let text = || ValueMatcher::String(plain(value));
    let path: Vec<_> = std::iter::once("payload")
        .chain(path.iter().copied())
        .collect();
    metadata(
        &path,
        ValueMatcher::Or(vec![ValueMatcher::OneOf(Box::new(text())), text()]),
    )
}

fn metadata(path: &[&str], value: ValueMatcher) -> RbacRule {
    RbacRule::Condition(RbacCondition::Metadata(MetadataMatcher::new(
        NAMESPACE, path, value,
    )))
}

/// "Split key of format "experimental.envoy.filters.a.b[c]" to "envoy.filters.a.b" and "c"." A
/// value in brackets is one of a list.
fn envoy_filter(key: &str, value: &str) -> Option<RbacCondition> {
    let (namespace, key) = key.strip_suffix(']').unwrap_or(key).split_once('[')?;
    let matcher = match value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        Some(inside) => ValueMatcher::OneOf(Box::new(ValueMatcher::String(plain(inside)))),
        None => ValueMatcher::String(plain(value)),
    };
    Some(RbacCondition::Metadata(MetadataMatcher::new(
        namespace,
        &[key],
        matcher,
    )))
}

fn bracketed(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

/// `[a][b]` as its names; anything odd is one name.
fn nested(text: &str) -> Option<Vec<&str>> {
    let inside = bracketed(text)?;
    let names: Vec<_> = inside.split("][").collect();
    let is_odd = names.iter().any(|name| name.contains(['[', ']']));
    Some(if is_odd { vec![inside] } else { names })
}
