//! The table of flags beside what a real Envoy logged.

use meshladder_core::flags;

use crate::expect::expect_file;

#[test]
fn the_manual_s_chapter_is_made_from_the_table() {
    expect_file("docs/response-flags.md", &flags::manual());
}

/// The rows are cases of a real Envoy: code, flags and details, each in its column.
#[test]
fn every_flag_and_detail_that_a_real_envoy_logged_is_explained() {
    let Some(shared) = std::env::var_os("MESHLADDER_SHARED") else { return };
    let path = std::path::Path::new(&shared).join("reference/envoy-samples/observed_flags.tsv");
    let text = std::fs::read_to_string(path).expect("the observed flags are there");
    let mut rows = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = rows.next().expect("there is a header").split('\t').collect();
    let column = |name: &str| header.iter().position(|h| *h == name).expect("the column is there");
    let (code, flag, details) = (column("code"), column("flags"), column("response_code_details"));
    let mut unexplained = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split('\t').collect();
        for name in cells[flag].split(',').filter(|name| *name != "-" && !name.is_empty()) {
            let Some(known) = flags::named(name) else {
                unexplained.push(format!("flag {name}"));
                continue;
            };
            // A status that goes with the flag, unless the flag only accompanies what else happened.
            let fits = known.status.contains(cells[code])
                || !known.status.contains(|c: char| c.is_ascii_digit())
                || cells[flag].contains(',')
                || ["200", "0", "-", ""].contains(&cells[code]);
            if !fits {
                unexplained.push(format!("{name} with status {}: the table says {}", cells[code], known.status));
            }
        }
        let shown = cells[details];
        if shown != "-" && !shown.is_empty() && flags::read(shown).is_none() {
            unexplained.push(format!("details {shown}"));
        }
    }
    unexplained.sort();
    unexplained.dedup();
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
}
