//! The replicas of one workload: who is the odd one out.

use super::{Diff, ProxySide, proxies};

/// A replica that differs from most of its siblings.
#[derive(Clone, Debug)]
pub struct Odd {
    /// The replicas that are like it, itself first.
    pub like: Vec<String>,
    /// How it differs from one of the many.
    pub diff: Diff,
}

/// The comparison of the replicas that are alike, the largest group, and those that are not.
/// Nothing is odd among equals; with as many on one side as on the other the first in order stands
/// for the many.
///
/// # Errors
/// When a document is no config dump.
pub fn odd_ones(sides: &[ProxySide<'_>]) -> Result<(Diff, Vec<Odd>), String> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut alike = Diff::default();
    for (at, side) in sides.iter().enumerate() {
        let mut found = None;
        for (number, group) in groups.iter().enumerate() {
            let diff = proxies(&sides[group[0]], side)?;
            if diff.is_empty() {
                found = Some(number);
                alike.compared += diff.compared;
                alike.noise.absorb(diff.noise);
                break;
            }
        }
        match found {
            Some(number) => groups[number].push(at),
            None => groups.push(vec![at]),
        }
    }
    let names = |group: &[usize]| {
        group
            .iter()
            .map(|at| sides[*at].name.clone())
            .collect::<Vec<_>>()
    };
    let Some(most) = groups.iter().map(Vec::len).max() else {
        return Ok((alike, Vec::new()));
    };
    let many = groups
        .iter()
        .position(|group| group.len() == most)
        .unwrap_or(0);
    let mut odd = Vec::new();
    for group in groups
        .iter()
        .enumerate()
        .filter(|(number, _)| *number != many)
        .map(|(_, group)| group)
    {
        let diff = proxies(&sides[groups[many][0]], &sides[group[0]])?;
        odd.push(Odd {
            like: names(group),
            diff,
        });
    }
    let like = names(&groups[many]);
    alike.a.clone_from(&like[0]);
    alike.b = like[1..].join(", ");
    Ok((alike, odd))
}
