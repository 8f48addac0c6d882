use super::*;

const TOO_DEEP: &str = "nested too deep";

fn size(node: &Node) -> usize {
    let below: usize = node
        .items()
        .iter()
        .chain(node.members().iter().map(|m| &m.value))
        .map(size)
        .sum();
    below + 1
}

fn what(text: &str) -> Vec<String> {
    load(text)
        .problems
        .into_iter()
        .map(|fault| fault.what)
        .collect()
}

#[test]
fn a_billion_laughs_end_in_one_problem() {
    let line = |level: usize| {
        format!(
            "a{level}: &a{level} [{}]\n",
            format!("*a{}, ", level - 1).repeat(10)
        )
    };
    let text = "a0: &a0 [lol]\n".to_owned() + &(1..30).map(line).collect::<Vec<_>>().concat();
    let YamlStream {
        documents,
        problems,
    } = load(&text);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].what, "aliases repeat more than 250000 values");
    assert!(text[problems[0].at..].starts_with("*a"));
    let size: usize = documents.iter().map(size).sum();
    assert!((10_000..600_000).contains(&size), "{size}");
}

#[test]
fn anchors_inside_anchors_do_not_multiply_the_document() {
    let items = "x, ".repeat(100_000);
    let text = format!("{}{items}{}\n", "&a [".repeat(100), "]".repeat(100));
    assert_eq!(what(&text), [""; 0]);
    assert_eq!(
        what(&format!("- {text}- *a\n")),
        ["aliases repeat more than 250000 values"]
    );
}

#[test]
fn long_texts_count_for_more_than_one_value() {
    let text = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1_000_000),
        "*a, ".repeat(1000)
    );
    assert_eq!(what(&text), ["aliases repeat more than 250000 values"]);
    let merges = format!(
        "a: &a {{{}: 1}}\nb: [{}]\n",
        "x".repeat(1_000),
        "*a, ".repeat(100_000)
    );
    assert_eq!(what(&merges), ["aliases repeat more than 250000 values"]);
}

#[test]
fn a_document_may_hold_only_so_many_values() {
    let text = format!("[{}]\n", "x, ".repeat(100));
    let part = &split(&text)[0];
    let run = |written| EventReader::new(part, YamlLimits { written, copied: 0 }).run();
    assert_eq!((run(101).documents.len(), run(101).problems), (1, vec![]));
    let YamlStream {
        documents,
        problems,
    } = run(100);
    assert_eq!(
        (documents.len(), &*problems[0].what),
        (0, "more than 100 values in one document")
    );
    assert_eq!(problems[0].at, 1 + 99 * 3);
}

#[test]
fn a_document_may_nest_as_deep_as_json_may() {
    let flow = |depth: usize| format!("{}x{}", "[".repeat(depth), "]".repeat(depth));
    let block = |depth: usize| format!("{}x", "- ".repeat(depth));
    let keys = |depth: usize| {
        (0..depth)
            .map(|i| " ".repeat(i) + "k:\n")
            .collect::<String>()
    };
    assert_eq!(
        (
            what(&flow(MAX_DEPTH)),
            what(&block(MAX_DEPTH)),
            what(&keys(MAX_DEPTH))
        ),
        (vec![], vec![], vec![])
    );
    for text in [
        flow(MAX_DEPTH + 1),
        block(MAX_DEPTH + 1),
        keys(MAX_DEPTH + 1),
        flow(100_000),
        block(5000),
    ] {
        let loaded = load(&text);
        assert_eq!(
            (loaded.documents.len(), &*loaded.problems[0].what),
            (0, TOO_DEEP)
        );
    }
    let json = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(
        (what(&json(MAX_DEPTH)), what(&json(MAX_DEPTH + 1))),
        (vec![], vec![TOO_DEEP.to_owned()])
    );
}

#[test]
fn aliases_do_not_nest_deeper_than_the_document_may() {
    let deep =
        |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    let half = MAX_DEPTH / 2;
    let text = |depth| format!("- &a {}\n- {}\n", deep(half, "x"), deep(depth, "*a"));
    assert_eq!(what(&text(MAX_DEPTH - half - 1)), [""; 0]);
    assert_eq!(what(&text(MAX_DEPTH - half)), [TOO_DEEP]);
}

#[test]
fn large_texts_take_linear_time() {
    // Each of these takes minutes when something in it is quadratic.
    let duplicates = "k: 1\n".repeat(100_000);
    assert_eq!(load(&duplicates).problems.len(), 99_999);
    let merges = format!(
        "a: &a {{x: 1}}\nb:\n{}",
        "  <<: *a\n  x: 2\n".repeat(50_000)
    );
    assert_eq!(load(&merges).problems.len(), 49_999);
    let broken = "---\na: [\n".repeat(50_000);
    assert_eq!(load(&broken).problems.len(), 50_000);
    let markers = "---\n".repeat(500_000);
    assert_eq!(load(&markers), YamlStream::default());
    let comments = "# é\n".repeat(500_000);
    assert_eq!(
        load(&format!("{comments}a: |\n  x\n{comments}"))
            .documents
            .len(),
        1
    );
}
