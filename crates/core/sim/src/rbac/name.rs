//! The names Istio gives to policies, and the objects they stand for.

/// The object behind a policy's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyName<'n> {
    /// The `AuthorizationPolicy`'s namespace.
    pub namespace: &'n str,
    /// Its name.
    pub name: &'n str,
    /// Which of its rules, counted from 0.
    pub rule: usize,
    /// For action CUSTOM: the provider; empty in names of older versions, which do not tell it.
    pub provider: Option<&'n str>,
    /// Whether istiod found the provider wanting and denies instead.
    pub is_bad_custom: bool,
}

impl<'n> PolicyName<'n> {
    /// Reads `ns[shop]-policy[x]-rule[0]`, `istio-ext-authz-PROVIDER-ns[…]…` and either with
    /// `-deny-due-to-bad-CUSTOM-action` behind it. None when istiod did not make it.
    pub fn parse(text: &'n str) -> Option<Self> {
        let (text, is_bad_custom) = match text.strip_suffix("-deny-due-to-bad-CUSTOM-action") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (provider, rest) = match text.strip_prefix("istio-ext-authz-") {
            Some(custom) => {
                // A provider may have any name, so the last `ns[` is the one that counts.
                let (provider, rest) = custom.split_at(custom.rfind("ns[")?);
                (Some(provider.trim_end_matches('-')), rest)
            }
            None => (None, text),
        };

        let (namespace, rest) = rest.strip_prefix("ns[")?.split_once("]-policy[")?;
        let (name, rule) = rest.split_once("]-rule[")?;
        let rule = rule.strip_suffix(']')?.parse().ok()?;
        Some(Self {
            namespace,
            name,
            rule,
            provider,
            is_bad_custom,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_the_object_they_came_from() {
        let plain = PolicyName {
            namespace: "shop",
            name: "x",
            rule: 0,
            provider: None,
            is_bad_custom: false,
        };
        assert_eq!(
            PolicyName::parse("ns[shop]-policy[x]-rule[0]"),
            Some(plain.clone())
        );
        let custom = PolicyName {
            provider: Some("opa-ext"),
            ..plain.clone()
        };
        assert_eq!(
            PolicyName::parse("istio-ext-authz-opa-ext-ns[shop]-policy[x]-rule[0]"),
            Some(custom.clone())
        );
        let older = PolicyName {
            provider: Some(""),
            ..plain
        };
        assert_eq!(
            PolicyName::parse("istio-ext-authz-ns[shop]-policy[x]-rule[0]"),
            Some(older)
        );
        let bad =
            "istio-ext-authz-opa-ext-ns[shop]-policy[x]-rule[0]-deny-due-to-bad-CUSTOM-action";
        assert_eq!(
            PolicyName::parse(bad),
            Some(PolicyName {
                is_bad_custom: true,
                ..custom
            })
        );
    }

    #[test]
    fn what_istiod_did_not_name_is_none() {
        for text in [
            "",
            "admin",
            "ns[shop]",
            "ns[shop]-policy[x]",
            "ns[shop]-policy[x]-rule[a]",
            "ns[a]-policy[b]-rule[1",
        ] {
            assert_eq!(PolicyName::parse(text), None, "{text}");
        }
    }
}
