//! The name that was probably meant.

use crate::mesh::Mesh;
use crate::mesh::host::{SERVICE_DOMAIN, service_name};

/// The name that differs the least from the wanted one, when it differs little: one letter in four.
pub(in crate::rules) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let best = names.map(|name| (distance(wanted, name), name)).min()?;
    (best.0 > 0 && best.0 <= (wanted.len() / 4).max(1)).then_some(best.1)
}

/// The full name of the Service that an unknown host was probably meant to be: `catalog.shop` written for
/// `catalog.shop.svc.cluster.local`, the right name in another namespace, or a slip of the finger.
pub(super) fn nearest_service(mesh: &Mesh, host: &str) -> Option<String> {
    let full = |name: &str, namespace: &str| format!("{name}.{namespace}{SERVICE_DOMAIN}");
    let short = host.strip_suffix(".svc").unwrap_or(host);
    if let Some((name, namespace)) = short.split_once('.').filter(|(_, namespace)| !namespace.contains('.')) {
        return mesh.service(namespace, name).map(|_| full(name, namespace));
    }
    let (name, namespace) = service_name(host)?;
    let beside = mesh.objects.in_namespace("Service", namespace).map(|service| service.id.name.as_str());
    if let Some(near) = nearest(name, beside) {
        return Some(full(near, namespace));
    }
    let mut elsewhere = mesh.services.iter().filter(|service| service.name == name);
    let only = elsewhere.next().filter(|_| elsewhere.next().is_none())?;
    Some(full(&only.name, &only.namespace))
}

/// How many letters must be put in, taken out or changed.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters() {
        for (a, b, expected) in
            [("", "", 0), ("cart", "cart", 0), ("cart", "crt", 1), ("cart", "card", 1), ("a", "", 1)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn only_a_slip_is_taken_for_another_name() {
        let names = || ["catalog", "cart", "payments"].into_iter();
        assert_eq!(nearest("catlog", names()), Some("catalog"));
        assert_eq!(nearest("ratings", names()), None);
        assert_eq!(nearest("cart", names()), None, "it is there");
    }
}
