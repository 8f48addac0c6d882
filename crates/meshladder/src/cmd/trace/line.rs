//! One line of `--requests`: a request as JSON, over what the flags say.

use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Principal, Scheme, Url};
use meshladder_text::json::{Raw, ValueKind};

/// A request, and what the line calls it.
pub(super) struct Line<'l> {
    pub(super) call: Call,
    /// The member `id`, as it stands there.
    pub(super) id: Option<&'l str>,
}

/// Reads a line. `caller` finds a workload by its name.
pub(super) fn read<'l>(
    text: &'l str,
    defaults: &Call,
    has_default_url: bool,
    mut caller: impl FnMut(&str) -> Result<Caller, String>,
) -> Result<Line<'l>, String> {
    let raw = Raw::of(text).map_err(|fault| fault.what)?;
    if raw.kind() != ValueKind::Object {
        return Err("not a JSON object".to_owned());
    }
    let mut line = Line {
        call: defaults.clone(),
        id: None,
    };
    let mut has_url = has_default_url;
    let mut members = raw.members();
    for (key, value) in members.by_ref() {
        let call = &mut line.call;
        match &*key {
            "id" if value.kind() == ValueKind::String || value.number().is_some() => {
                line.id = Some(value.text());
            }
            "id" => return Err("`id` is not a string or a number".to_owned()),
            "from" => call.from = caller(&string(&key, value)?)?,
            "to" => {
                call.to = Url::parse(&string(&key, value)?)?;
                has_url = true;
            }
            "method" => call.method = string(&key, value)?,
            "headers" => headers(value, &mut call.headers)?,
            "http" => call.http = version(string(&key, value)?)?,
            "sni" => call.sni = Some(Some(string(&key, value)?).filter(|name| name != "none")),
            "sourceIp" => {
                let address = string(&key, value)?;
                let address = address
                    .parse()
                    .map_err(|_| format!("`{address}` is no address"))?;
                call.source_ip = Some(address);
            }
            "principal" => call.principal = Some(Principal::parse(&string(&key, value)?)?),
            "claims" => call.claims = Claims::Given(pairs(&key, value)?),
            other => return Err(format!("`{other}` is not known")),
        }
    }
    if let Some(fault) = members.fault() {
        return Err(fault.what.clone());
    }
    if !has_url {
        return Err("no `to`: what is called?".to_owned());
    }
    if line.call.to.scheme == Scheme::Tcp {
        line.call.method.clear();
    }
    Ok(line)
}

fn string(key: &str, value: Raw<'_>) -> Result<String, String> {
    value
        .string()
        .map(Into::into)
        .ok_or_else(|| format!("`{key}` is not a string"))
}

fn version(text: String) -> Result<String, String> {
    if ["1.0", "1.1", "2"].contains(&&*text) {
        Ok(text)
    } else {
        Err(format!("`{text}` is no HTTP version: 1.0, 1.1 or 2"))
    }
}

/// A header of the line stands in the place of the flags' one of that name.
fn headers(value: Raw<'_>, headers: &mut Vec<(String, String)>) -> Result<(), String> {
    let own = pairs("headers", value)?;
    headers.retain(|(name, _)| {
        !own.iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    });
    headers.extend(
        own.into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value)),
    );
    Ok(())
}

/// The members of an object; a list stands for several of one name.
fn pairs(key: &str, value: Raw<'_>) -> Result<Vec<(String, String)>, String> {
    if value.kind() != ValueKind::Object {
        return Err(format!("`{key}` is not an object"));
    }
    let mut pairs = Vec::new();
    for (name, value) in value.members() {
        match value.kind() {
            ValueKind::Array => {
                for value in value.elements() {
                    pairs.push((name.to_string(), string(&name, value)?));
                }
            }
            _ => pairs.push((name.to_string(), string(&name, value)?)),
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Call {
        Call {
            from: Caller::Outside,
            to: Url::parse("http://default").expect("a URL"),
            method: "GET".to_owned(),
            headers: vec![
                ("x-a".to_owned(), "flag".to_owned()),
                ("x-b".to_owned(), "flag".to_owned()),
            ],
            http: "1.1".to_owned(),
            sni: None,
            source_ip: None,
            principal: None,
            claims: Claims::None,
        }
    }

    #[test]
    fn a_line_stands_over_the_flags() {
        let text = r#"{"id":7,"to":"https://a.test/x","method":"POST","headers":{"X-A":"1","x-c":["2","3"]},"http":"2","sni":"none","sourceIp":"10.0.0.9","claims":{"iss":"i"}}"#;
        let Line { call, id } =
            read(text, &defaults(), false, |_| unreachable!()).expect("a request");
        assert_eq!(id, Some("7"));
        assert_eq!(
            (call.from, call.to.host.as_str(), call.method.as_str()),
            (Caller::Outside, "a.test", "POST")
        );
        let headers: Vec<_> = call
            .headers
            .iter()
            .map(|(k, v)| format!("{k}: {v}"))
            .collect();
        assert_eq!(headers, ["x-b: flag", "x-a: 1", "x-c: 2", "x-c: 3"]);
        assert_eq!((call.http.as_str(), call.sni), ("2", Some(None)));
        assert_eq!(call.source_ip, Some([10, 0, 0, 9].into()));
        assert_eq!(
            call.claims,
            Claims::Given(vec![("iss".to_owned(), "i".to_owned())])
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        for (text, told) in [
            ("[]", "not a JSON object"),
            (r#"{"method":"GET"}"#, "no `to`"),
            (r#"{"to":"http://a","x":1}"#, "`x` is not known"),
            (r#"{"to":1}"#, "`to` is not a string"),
            (r#"{"to":"ftp://a"}"#, "http, https or tcp"),
            (r#"{"to":"http://a","http":"3"}"#, "no HTTP version"),
            (r#"{"to":"http://a","sourceIp":"x"}"#, "`x` is no address"),
            (r#"{"to":"http://a","from":"x"}"#, "no such workload"),
            (
                r#"{"to":"http://a","headers":[]}"#,
                "`headers` is not an object",
            ),
            (r#"{"to":"http://a""#, ""),
        ] {
            let why = read(text, &defaults(), false, |_| {
                Err("no such workload".to_owned())
            })
            .err();
            assert!(
                why.as_ref().is_some_and(|why| why.contains(told)),
                "{text}: {why:?}"
            );
        }
    }
}
