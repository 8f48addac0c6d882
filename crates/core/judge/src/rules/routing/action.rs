//! What a route of a VirtualService does to a request, so that two can be compared.

use meshladder_mesh::services::{number, ports};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Action {
    /// Where it leads: host, subset and port, each with its share of ten thousand.
    pub(super) places: Vec<(Place, u64)>,
    /// All else it asks for, as JSON by its name.
    more: Vec<(String, String)>,
}

/// Where a route leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) subset: String,
    pub(super) port: u16,
}

impl Action {
    /// What happens to a call that no VirtualService has a say in.
    pub(super) fn of_nothing(host: &str, port: u16) -> Self {
        let place = Place {
            host: host.to_owned(),
            subset: String::new(),
            port,
        };
        Self {
            places: vec![(place, 10_000)],
            more: Vec::new(),
        }
    }

    /// What a route does to a call to a port.
    pub(super) fn of(mesh: &Mesh, service: &Object, route: &Node, port: u16) -> Self {
        let list = route.get("route").map_or(&[][..], Node::items);
        let weight = |entry: &Node| entry.get("weight").and_then(number).map_or(0, u64::from);
        let total: u64 = list.iter().map(weight).sum();
        let mut places: Vec<(Place, u64)> = list
            .iter()
            .filter_map(|entry| {
                let share = (weight(entry) * 10_000)
                    .checked_div(total)
                    .unwrap_or(10_000 / list.len() as u64);
                Some((place(mesh, service, entry.get("destination")?, port), share))
            })
            .filter(|(_, share)| *share > 0)
            .collect();
        places.sort();
        let says = |key: &str, value: &Node| {
            !["match", "name", "route"].contains(&key) && !is_empty(value)
        };
        let mut more: Vec<_> = route
            .members()
            .iter()
            .filter(|member| says(&member.key, &member.value))
            .map(|member| (member.key.to_string(), member.value.to_json()))
            .collect();
        more.sort();
        Self { places, more }
    }

    /// What it asks for that the other does not, in words.
    pub(super) fn beyond(&self, other: &Self) -> Option<String> {
        let mut words = Vec::new();
        if self.places != other.places && !self.places.is_empty() {
            words.push(self.whereto());
        }
        words.extend(
            self.more
                .iter()
                .filter(|one| !other.more.contains(one))
                .map(|(key, value)| {
                    if value.starts_with(['{', '[']) {
                        key.clone()
                    } else {
                        format!("{key} {}", value.trim_matches('"'))
                    }
                }),
        );
        if words.is_empty() && self != other {
            words.extend(
                other
                    .more
                    .iter()
                    .filter(|one| !self.more.contains(one))
                    .map(|(key, _)| format!("no {key}")),
            );
        }
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// `90 % to subset v1 and 10 % to subset v2 of catalog.shop.svc.cluster.local`
    fn whereto(&self) -> String {
        let percent = |share: u64| {
            if share >= 10_000 {
                "all".to_owned()
            } else {
                format!("{} %", share / 100)
            }
        };
        let last = self.places.len().saturating_sub(1);
        let words = self.places.iter().enumerate().map(|(i, (place, share))| {
            let is_said = i < last && self.places[i + 1].0.host == place.host;
            let name = match (place.subset.as_str(), is_said) {
                ("", _) => place.host.clone(),
                (subset, true) => format!("subset {subset}"),
                (subset, false) => format!("subset {subset} of {}", place.host),
            };
            format!("{} to {name}", percent(*share))
        });
        words.collect::<Vec<_>>().join(" and ")
    }

    /// Whether both lead to the same Service, whatever the subset.
    pub(super) fn shares_a_host(&self, other: &Self) -> bool {
        self.places.iter().any(|(a, _)| {
            other
                .places
                .iter()
                .any(|(b, _)| a.host == b.host && a.port == b.port)
        })
    }
}

/// "If a service exposes only a single port it is not required to explicitly select the port."
fn place(mesh: &Mesh, service: &Object, destination: &Node, called: u16) -> Place {
    let host = mesh
        .domain
        .fqdn(
            destination.str_at("host").unwrap_or_default(),
            &service.id.namespace,
        )
        .into_owned();
    let only = || {
        let mut numbers = ports(mesh.service_of_host(&host)?).map(|port| port.number);
        numbers.next().filter(|_| numbers.next().is_none())
    };
    let port = destination
        .at(["port", "number"])
        .and_then(number)
        .or_else(only)
        .unwrap_or(called);
    Place {
        subset: destination.str_at("subset").unwrap_or_default().to_owned(),
        host,
        port,
    }
}

fn is_empty(value: &Node) -> bool {
    match &value.value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::Kind;
    use meshladder_capture::snapshot::{Builder, DocId};

    const SERVICE: &str = "kind: Service\napiVersion: v1\nmetadata: {name: cart, namespace: shop}\nspec: {ports: [{port: 8080}]}\n---\n";

    /// What a route asks for beyond the default, and beyond another route.
    fn beyond(route: &str, other: Option<&str>) -> Option<String> {
        let rules = |name: &str, route: &str| {
            format!(
                "kind: VirtualService\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{http: [{route}]}}\n---\n"
            )
        };
        let text = format!(
            "{SERVICE}{}{}",
            rules("a", route),
            rules("b", other.unwrap_or("{}"))
        );
        let mut builder = Builder::new();
        builder.add(DocId::new("k8s/a.yaml"), "a.yaml", text.into_bytes());
        let mesh = Mesh::build(&builder.finish());
        let action = |name: &str| {
            let service = mesh
                .objects
                .get(Kind::VirtualService, "shop", name)
                .expect("it is there");
            Action::of(&mesh, service, &service.spec_list("http")[0], 8080)
        };
        let nothing = Action::of_nothing("cart.shop.svc.cluster.local", 8080);
        action("a").beyond(&other.map_or(nothing, |_| action("b")))
    }

    #[test]
    fn only_what_differs_is_told() {
        const V1: &str = "{route: [{destination: {host: cart, subset: v1}}]}";
        for (route, other, expected) in [
            (
                "{name: a, route: [{destination: {host: cart}}]}",
                None,
                None,
            ),
            (
                "{route: [{destination: {host: cart, port: {number: 8080}}, weight: 100}]}",
                None,
                None,
            ),
            (
                "{timeout: 1s, route: [{destination: {host: cart}}]}",
                None,
                Some("timeout 1s"),
            ),
            (
                "{retries: {attempts: 0}, route: [{destination: {host: cart}}]}",
                None,
                Some("retries"),
            ),
            (
                V1,
                None,
                Some("all to subset v1 of cart.shop.svc.cluster.local"),
            ),
            (V1, Some(V1), None),
            (
                "{route: [{destination: {host: cart, subset: v1}, weight: 3}, {destination: {host: cart, subset: v2}, weight: 1}]}",
                Some(V1),
                Some("75 % to subset v1 and 25 % to subset v2 of cart.shop.svc.cluster.local"),
            ),
            (
                "{route: [{destination: {host: cart}}]}",
                Some("{timeout: 1s, route: [{destination: {host: cart}}]}"),
                Some("no timeout"),
            ),
        ] {
            assert_eq!(
                beyond(route, other).as_deref(),
                expected,
                "{route} {other:?}"
            );
        }
    }
}
