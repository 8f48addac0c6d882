//! The rule book as users meet it: codes that were given up still lead somewhere, and a new rule is
//! a matter of one command.

use std::fs;
use std::path::Path;
use std::process::Command;

use meshladder_judge::rules::{self, retired::RETIRED};

use crate::expect::root;
use crate::support::{meshladder, with_stdin};

/// A Gateway that selects nobody: ML0507, which was ML2201 to `analyze`.
const NOBODY: &str = "apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: shop, namespace: shop}
spec:
  selector: {istio: ingresgateway}
  servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: [shop.example.com]}]
";

#[test]
fn a_retired_code_or_name_is_explained_by_the_rule_that_took_it_over() {
    for old in RETIRED {
        for word in [old.code, old.name, &old.code.to_lowercase()] {
            let run = meshladder(&["explain", word]);
            let heir = rules::named(old.into).expect("a rule");
            assert_eq!(run.code, 0, "{run:?}");
            let head = format!("{} ({}) is part of {} since", old.code, old.name, old.into);
            assert!(run.stdout.starts_with(&head), "{}", run.stdout);
            assert!(run.stdout.ends_with(heir.docs), "{}", run.stdout);
        }
    }
    let own = meshladder(&["explain", "ML0507"]);
    assert!(own.stdout.starts_with("# ML0507 "), "{}", own.stdout);
}

#[test]
fn a_retired_code_still_selects_ignores_and_suppresses() {
    let annotated = NOBODY.replace(
        "namespace: shop}",
        "namespace: shop, annotations: {galley.istio.io/analyze-suppress: ML2201}}",
    );
    let tells = |words: &[&str], yaml: &str| {
        let run = with_stdin(&[&["analyze", "-"], words].concat(), yaml.as_bytes());
        run.stdout.contains("[IST0101]")
    };
    for word in [
        "ML2201",
        "ml2201",
        "selector-finds-no-pod",
        "ML22",
        "ML0507",
    ] {
        assert!(tells(&["--select", word], NOBODY), "{word}");
        assert!(!tells(&["--ignore", word], NOBODY), "{word}");
    }
    for code in ["ML2201", "ML0507", "IST0101", "KIA0302"] {
        let suppress = format!("{code}=Gateway shop/*");
        assert!(!tells(&["--suppress", &suppress], NOBODY), "{code}");
    }
    assert!(tells(&["--suppress", "ML2202=*"], NOBODY));
    assert!(!tells(&[], &annotated));
}

#[test]
fn what_goes_out_has_the_new_code() {
    for format in ["json", "sarif", "junit", "github", "markdown", "text"] {
        let run = with_stdin(&["analyze", "-", "-o", format], NOBODY.as_bytes());
        assert!(run.stdout.contains("ML0507"), "{format}: {}", run.stdout);
        assert!(!run.stdout.contains("ML2201"), "{format}: {}", run.stdout);
    }
}

#[test]
fn the_changelog_lists_every_retired_code() {
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).expect("a changelog");
    for old in RETIRED {
        let entry = format!("{} → {}", old.code, old.into);
        assert!(changes.contains(&entry), "{entry}");
    }
}

/// The rungs that there are, as code names them.
fn rungs(tree: &Path) -> Vec<String> {
    let text = fs::read_to_string(tree.join("crates/core/judge/src/finding/rung.rs"));
    let text = text.expect("the rungs");
    let (_, body) = text.split_once("pub enum Rung {").expect("an enum");
    let (body, _) = body.split_once('}').expect("its end");
    let names = body.lines().map(str::trim);
    let names = names.filter_map(|line| line.strip_suffix(','));
    names.map(str::to_owned).collect()
}

#[test]
fn a_new_rule_is_written_for_every_family() {
    let copy = tempfile::tempdir().expect("a directory");
    let tree = copy.path();
    for part in ["scripts/new-rule", "crates/core/judge/src"] {
        let to = tree.join(part);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        let copied = Command::new("cp")
            .arg("-r")
            .arg(root().join(part))
            .arg(&to)
            .status();
        assert!(copied.expect("cp").success(), "{part}");
    }
    let rules = tree.join("crates/core/judge/src/rules");
    let rungs = rungs(tree);
    let mut families = Vec::new();
    for entry in fs::read_dir(&rules).expect("the rules") {
        let name = entry.expect("an entry").file_name().into_string();
        let family = name.expect("UTF-8");
        let list = fs::read_to_string(rules.join(format!("{family}.rs")));
        if list.is_ok_and(|list| list.contains("static RULES")) {
            families.push(family);
        }
    }
    assert_eq!(families.len(), rules::FAMILIES.len(), "{families:?}");
    families.sort();
    for (number, family) in families.iter().enumerate() {
        let (code, name) = (format!("ML99{number:02}"), "service-called-broken");
        let run = Command::new(tree.join("scripts/new-rule"))
            .args([family, &code, name])
            .output();
        let run = run.expect("the script");
        assert!(run.status.success(), "{family}: {run:?}");
        judge(&rules, family, &code, &rungs);
    }
    let again = Command::new(tree.join("scripts/new-rule"))
        .args(["endpoints", RETIRED[0].code, "another"])
        .output();
    let again = again.expect("the script");
    assert!(!again.status.success(), "a retired code is not used again");
}

/// Holds the files of a new rule to what the others look like.
fn judge(rules: &Path, family: &str, code: &str, rungs: &[String]) {
    let read = |path: String| fs::read_to_string(rules.join(path)).expect("a file");
    let list = read(format!("{family}.rs"));
    let rule = read(format!("{family}/service_called_broken.rs"));
    let page = read(format!("{family}/service_called_broken.md"));
    assert!(list.contains("mod service_called_broken;\n"), "{list}");
    let (_, rows) = list.split_once("static RULES").expect("the rules");
    let (rows, _) = rows.split_once("];").expect("their end");
    let last = rows.rsplit("::RULE").nth(1).expect("a rule");
    assert!(
        last.ends_with("&service_called_broken"),
        "{family}: its code is the highest, so it stands last: {list}"
    );
    let rung = rule.split("Rung::").nth(1).expect("a rung");
    let rung = rung.split(',').next().expect("a rung");
    assert!(rungs.iter().any(|one| one == rung), "{family}: {rung}");
    assert!(rule.contains(&format!("code: \"{code}\"")), "{rule}");
    assert!(page.contains("```yaml fires\n") && page.contains("```yaml quiet\n"));
    assert!(page.contains(&format!("# ^ {code}\n")), "{page}");
    for file in [
        format!("{family}.rs"),
        format!("{family}/service_called_broken.rs"),
    ] {
        let text = read(file.clone());
        let run = Command::new("rustfmt")
            .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
            .stdin(fs::File::open(rules.join(&file)).expect("a file"))
            .output();
        let run = run.expect("rustfmt");
        assert!(run.status.success(), "{file}: {run:?}");
        assert_eq!(String::from_utf8_lossy(&run.stdout), text, "{file}");
    }
}
