//! The values of a policy's fields, as istiod writes them for Envoy.

use std::net::IpAddr;

use super::Traffic;
use meshladder_capture::snapshot::redacted_part;
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
        if traffic == Traffic::Tcp && self.is_http_only() {
            return None;
        }
        match self {
            Self::RequestPrincipals => Some(request_principal(value)),
            Self::Claims(path) => Some(claim(&nested(path)?, value)),
            Self::Audiences => Some(claim(&["aud"], value)),
            Self::Presenter => Some(claim(&["azp"], value)),
            _ => Some(RbacRule::Condition(self.condition(value)?)),
        }
    }

    fn is_http_only(self) -> bool {
        matches!(
            self,
            Self::RequestPrincipals
                | Self::Hosts
                | Self::Methods
                | Self::Paths
                | Self::Header(_)
                | Self::Claims(_)
                | Self::Audiences
                | Self::Presenter
        )
    }

    fn condition(self, value: &str) -> Option<RbacCondition> {
        match self {
            Self::Principals => Some(authenticated(prefixed(value, "spiffe://"))),
            Self::Namespaces => {
                let pattern = format!(".*/ns/{}/.*", value.replace('*', ".*"));
                Some(authenticated(StringMatcher::regex(&pattern)))
            }
            Self::ServiceAccounts(namespace) => {
                let pattern = service_account(namespace, value);
                Some(authenticated(StringMatcher::regex(&pattern)))
            }
            Self::TrustDomains if value.contains('*') => {
                let fact = format!("which trust domains `{value}` selects");
                Some(RbacCondition::Unmodelled(fact.into()))
            }
            Self::TrustDomains => {
                let prefix = format!("spiffe://{value}/");
                Some(authenticated(StringMatcher::prefix(&prefix)))
            }
            Self::IpBlocks => Some(RbacCondition::DirectRemoteIp(range(value)?)),
            Self::RemoteIpBlocks => Some(RbacCondition::RemoteIp(range(value)?)),
            Self::DestinationIp => Some(RbacCondition::DestinationIp(range(value)?)),
            Self::Ports => {
                let port = u32::from(value.parse::<u16>().ok()?);
                Some(RbacCondition::DestinationPort(port..port + 1))
            }
            Self::Sni => Some(RbacCondition::ServerName(plain(value))),
            // Hosts are compared without regard to case, and with their port.
            Self::Hosts => Some(RbacCondition::Header(header(":authority", value, true)?)),
            Self::Methods => Some(RbacCondition::Header(header(":method", value, false)?)),
            Self::Header(name) => {
                let matcher = header(bracketed(name)?, value, false)?;
                Some(RbacCondition::Header(matcher))
            }
            Self::Paths => Some(path(value)),
            Self::EnvoyFilter(key) => envoy_filter(key, value),
            Self::RequestPrincipals | Self::Claims(_) | Self::Audiences | Self::Presenter => None,
        }
    }
}

fn authenticated(principal: StringMatcher) -> RbacCondition {
    RbacCondition::Authenticated(Some(principal))
}

fn path(value: &str) -> RbacCondition {
    // "{*}" and "{**}" are istiod's way to write Envoy's "*" and "**".
    if value.contains("{*}") || value.contains("{**}") {
        let template = value.replace("{**}", "**").replace("{*}", "*");
        return RbacCondition::UriTemplate(UriTemplate::compile(&template));
    }
    RbacCondition::UrlPath(plain(value))
}

/// `*` is any text but none, `*x` a suffix, `x*` a prefix.
fn plain(value: &str) -> StringMatcher {
    prefixed(value, "")
}

fn prefixed(value: &str, prefix: &str) -> StringMatcher {
    // The stars of a value that was redacted are none of its own.
    if redacted_part(value).is_some() {
        return StringMatcher::exact(&format!("{prefix}{value}"));
    }
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
        _ if redacted_part(value).is_some() => ("exact", value),
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
    if length.is_empty() {
        return Some(Cidr::new(address, whole));
    }
    let length = length.parse().ok()?;
    if length > whole {
        return None;
    }
    Some(Cidr::new(address, length))
}

/// "The specifier takes a `<name>` or `<namespace>/<name>` value."
fn service_account(policy_namespace: &str, value: &str) -> String {
    let (namespace, account) = value.split_once('/').unwrap_or((policy_namespace, value));
    format!("spiffe://.+/ns/{namespace}/(.+/|)sa/{account}(/.+)?")
}

/// Issuer and subject: "Use the last index of "/" since issuer may be an URL".
fn request_principal(value: &str) -> RbacRule {
    let (issuer, subject) = issuer_and_subject(value);
    RbacRule::And(vec![
        metadata(&["payload", "iss"], ValueMatcher::String(issuer)),
        metadata(&["payload", "sub"], ValueMatcher::String(subject)),
    ])
}

/// "Use the last index of "/" since issuer may be an URL".
fn issuer_and_subject(value: &str) -> (StringMatcher, StringMatcher) {
    let any = StringMatcher::regex(".+");
    if value == "*" {
        return (any.clone(), any);
    }
    let split = value.rsplit_once('/');
    // A star in front is about the issuer, one at the end about the subject.
    if let Some(suffix) = value.strip_prefix('*') {
        return match split {
            None => (any, StringMatcher::suffix(suffix)),
            Some(("*", subject)) => (any, StringMatcher::exact(subject)),
            Some((issuer, subject)) => {
                let issuer = issuer.trim_start_matches('*');
                (StringMatcher::suffix(issuer), StringMatcher::exact(subject))
            }
        };
    }
    if let Some(prefix) = value.strip_suffix('*') {
        return match split {
            None => (StringMatcher::prefix(prefix), any),
            Some((issuer, "*")) => (StringMatcher::exact(issuer), any),
            Some((issuer, subject)) => {
                let subject = subject.trim_end_matches('*');
                (StringMatcher::exact(issuer), StringMatcher::prefix(subject))
            }
        };
    }
    let (issuer, subject) = split.unwrap_or((value, ""));
    (StringMatcher::exact(issuer), StringMatcher::exact(subject))
}

/// A claim is a text or a list with one such text in it.
fn claim(path: &[&str], value: &str) -> RbacRule {
    let text = ValueMatcher::String(plain(value));
    let one_of = ValueMatcher::OneOf(Box::new(text.clone()));
    let path = [&["payload"][..], path].concat();
    metadata(&path, ValueMatcher::Or(vec![one_of, text]))
}

fn metadata(path: &[&str], value: ValueMatcher) -> RbacRule {
    let matcher = MetadataMatcher::new(NAMESPACE, path, value);
    RbacRule::Condition(RbacCondition::Metadata(matcher))
}

/// "Split key of format "experimental.envoy.filters.a.b[c]" to "envoy.filters.a.b" and "c"." A
/// value in brackets is one of a list.
fn envoy_filter(key: &str, value: &str) -> Option<RbacCondition> {
    let (namespace, key) = key.strip_suffix(']').unwrap_or(key).split_once('[')?;
    let matcher = match bracketed(value) {
        Some(inside) => ValueMatcher::OneOf(Box::new(ValueMatcher::String(plain(inside)))),
        None => ValueMatcher::String(plain(value)),
    };
    let matcher = MetadataMatcher::new(namespace, &[key], matcher);
    Some(RbacCondition::Metadata(matcher))
}

fn bracketed(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

/// `[a][b]` as its names; anything odd is one name.
fn nested(text: &str) -> Option<Vec<&str>> {
    let inside = bracketed(text)?;
    let names: Vec<_> = inside.split("][").collect();
    if names.iter().any(|name| name.contains(['[', ']'])) {
        return Some(vec![inside]);
    }
    Some(names)
}
