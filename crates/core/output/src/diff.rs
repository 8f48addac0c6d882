//! A difference for people and programs: the objects first, each with what proxies show of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use meshladder_judge::describe::few;
use meshladder_judge::diff::{ChangeKind, Diff, DiffChange, DiffEdit};
use meshladder_mesh::ObjectRef;

mod json;

pub use json::to_json;

use crate::html;
use crate::paint::Paint;

/// How many parts of a change are shown without `-v`, and how long a value may be.
const PARTS: usize = 6;
const WIDTH: usize = 100;

/// How many requests are shown without `-v`.
const FATES: usize = 10;

/// What is shown of a difference, whatever draws it.
struct Outline {
    headline: String,
    blocks: Vec<DiffBlock>,
}

struct DiffBlock {
    title: String,
    lines: Vec<String>,
}

/// For the terminal.
pub fn to_text(diff: &Diff, paint: Paint, show_noise: bool) -> String {
    let outline = Outline::of(diff, paint.verbose, show_noise);
    let mut out = format!("{}\n", paint.bold(&outline.headline));
    for block in outline.blocks {
        out.extend(["\n", &paint.bold(&block.title), "\n"]);
        block
            .lines
            .iter()
            .for_each(|line| out.extend(["  ", line, "\n"]));
    }
    out
}

/// For a ticket or a chat.
pub fn to_markdown(diff: &Diff, show_noise: bool) -> String {
    let outline = Outline::of(diff, true, show_noise);
    let mut out = format!("# {}\n", outline.headline);
    for block in outline.blocks {
        out.extend(["\n## ", &block.title, "\n\n"]);
        block
            .lines
            .iter()
            .for_each(|line| out.extend(["- ", &line.replace('|', "\\|"), "\n"]));
    }
    out
}

/// As one file without anything from elsewhere.
pub fn to_html(diff: &Diff, show_noise: bool) -> String {
    let outline = Outline::of(diff, true, show_noise);
    let mut body = String::new();
    for block in outline.blocks {
        let lines: Vec<String> = block
            .lines
            .iter()
            .map(|line| format!("<li>{}</li>", html::escape(line)))
            .collect();
        let title = html::escape(&block.title);
        writeln!(body, "<h2>{title}</h2>\n<ul>{}</ul>", lines.join("\n"))
            .expect("a String takes everything");
    }
    html::page(&outline.headline, &body)
}

impl Outline {
    fn of(diff: &Diff, verbose: bool, show_noise: bool) -> Self {
        let (objects, shown): (Vec<&DiffChange>, Vec<&DiffChange>) =
            diff.changes.iter().partition(|change| change.is_object());
        let mut blocks: Vec<DiffBlock> = Vec::new();
        let mut explained = BTreeSet::new();
        for object in &objects {
            let mut block = block(object, &diff.b, verbose);
            let made = shown
                .iter()
                .enumerate()
                .filter(|(_, change)| is_made_by(change, &object.objects));
            let made: Vec<&DiffChange> = made
                .filter(|(at, _)| explained.insert(*at))
                .map(|(_, change)| *change)
                .collect();
            let most = if verbose { made.len() } else { PARTS };
            block.lines.extend(
                made.iter()
                    .take(most)
                    .map(|change| format!("→ {}", in_a_line(change))),
            );
            if made.len() > most {
                block.lines.push(format!(
                    "→ and {} more that proxies show (-v)",
                    made.len() - most
                ));
            }
            blocks.push(block);
        }
        let rest = shown
            .iter()
            .enumerate()
            .filter(|(at, _)| !explained.contains(at));
        blocks.extend(rest.map(|(_, change)| block(change, &diff.b, verbose)));
        if !diff.fates.is_empty() {
            blocks.push(DiffBlock {
                title: "Requests that end otherwise".to_owned(),
                lines: fates(diff, verbose),
            });
        }
        if !diff.unknown.is_empty() {
            blocks.push(DiffBlock {
                title: "Not compared".to_owned(),
                lines: diff.unknown.clone(),
            });
        }
        blocks.extend(noise(diff, show_noise));
        Self {
            headline: headline(diff, objects.len(), shown.len()),
            blocks,
        }
    }
}

/// Callers whose request changes in the same way share a line.
fn fates(diff: &Diff, verbose: bool) -> Vec<String> {
    let mut callers: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for fate in &diff.fates {
        callers
            .entry((&fate.request, &fate.was, &fate.is))
            .or_default()
            .push(&fate.from);
    }
    let most = if verbose { callers.len() } else { FATES };
    let line = |((request, was, is), from): (&(&str, &str, &str), &Vec<&str>)| {
        format!("{request} from {}: {was} → {is}", few(from))
    };
    let mut lines: Vec<String> = callers.iter().take(most).map(line).collect();
    if callers.len() > most {
        lines.push(format!("… and {} more (-v)", callers.len() - most));
    }
    lines
}

fn headline(diff: &Diff, objects: usize, shown: usize) -> String {
    let (a, b) = (&diff.a, &diff.b);
    let left_out = match diff.noise.total() {
        0 => String::new(),
        1 => " (1 expected difference left out)".to_owned(),
        n => format!(" ({n} expected differences left out)"),
    };
    if diff.is_empty() {
        return format!(
            "A {a} and B {b} are the same in {} things compared{left_out}",
            diff.compared
        );
    }
    let count = |n: usize, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let parts = [
        count(objects, "object", "objects"),
        count(
            shown,
            "part of a proxy's configuration",
            "parts of proxies' configuration",
        ),
        count(diff.fates.len(), "request's end", "requests' ends"),
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("A {a} and B {b} differ in {parts}{left_out}")
}

fn is_made_by(change: &DiffChange, objects: &[ObjectRef]) -> bool {
    change.objects.iter().any(|object| objects.contains(object))
}

/// Between two proxies the headline says whose they are: `b` is what the second is called there.
fn block(change: &DiffChange, b: &str, verbose: bool) -> DiffBlock {
    let mut lines: Vec<String> = change.means.iter().cloned().collect();
    let most = if verbose { change.edits.len() } else { PARTS };
    if change.what == ChangeKind::Changed
        || change.what == ChangeKind::Moved
        || verbose
        || change.means.is_none()
    {
        lines.extend(change.edits.iter().take(most).map(edit));
        if change.edits.len() > most {
            lines.push(format!("… and {} more (-v)", change.edits.len() - most));
        }
    }
    lines.extend(
        on(change)
            .filter(|on| !b.starts_with(on.as_str()))
            .map(|on| format!("on {on}")),
    );
    if !change.is_object() && !change.objects.is_empty() {
        let objects: Vec<String> = change.objects.iter().map(ToString::to_string).collect();
        lines.push(format!("made by {}", objects.join(", ")));
    }
    DiffBlock {
        title: format!("{} {} {}", change.kind, change.name, change.what.word()),
        lines,
    }
}

fn in_a_line(change: &DiffChange) -> String {
    let means = change
        .means
        .as_deref()
        .map(|means| format!(": {means}"))
        .unwrap_or_default();
    let on = on(change)
        .map(|on| format!(" (on {on})"))
        .unwrap_or_default();
    cut(
        &format!(
            "{} {} {}{means}{on}",
            change.kind,
            change.name,
            change.what.word()
        ),
        3 * WIDTH,
    )
}

fn on(change: &DiffChange) -> Option<String> {
    (!change.on.is_empty()).then(|| few(&change.on))
}

fn edit(edit: &DiffEdit) -> String {
    let value = |side: &Option<String>| {
        side.as_deref()
            .map_or_else(|| "–".to_owned(), |text| cut(text, WIDTH))
    };
    match edit.what {
        ChangeKind::Added if edit.path.is_empty() => value(&edit.new),
        ChangeKind::Removed if edit.path.is_empty() => value(&edit.old),
        _ => format!("{}: {} → {}", edit.path, value(&edit.old), value(&edit.new)),
    }
}

fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn noise(diff: &Diff, show: bool) -> Option<DiffBlock> {
    if diff.noise.total() == 0 || !show {
        return None;
    }
    let mut lines: Vec<String> = diff
        .noise
        .counts
        .iter()
        .map(|(why, count)| format!("{why}: {count}"))
        .collect();
    lines.extend(diff.noise.listed.iter().map(|(why, path, old, new)| {
        format!(
            "{why}, {}: {} → {}",
            cut(path, WIDTH),
            cut(old, WIDTH),
            cut(new, WIDTH)
        )
    }));
    Some(DiffBlock {
        title: "Expected differences".to_owned(),
        lines,
    })
}
