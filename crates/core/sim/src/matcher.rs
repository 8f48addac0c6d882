//! The matchers that routes, RBAC policies and JWT rules share: strings, headers, query parameters,
//! cookies, paths.
//!
//! Each is compiled once from the dump, answers [`super::Tri`], and can say afterwards in words
//! what decided.

mod cookie;
mod header;
mod path;
mod query;
mod string;
mod template;

pub use cookie::CookieMatcher;
pub(crate) use cookie::cookie;
pub use header::HeaderMatcher;
pub use path::{PathMatch, without_query_and_fragment};
pub use query::{QueryParameterMatcher, query_parameter};
pub use string::StringMatcher;
pub use template::UriTemplate;

/// Something of the configuration that is not modelled, by the name its users know.
pub(crate) fn unmodelled(what: &str) -> Box<str> {
    format!("what {what} decides, which is not modelled").into()
}

#[cfg(test)]
mod tests;
