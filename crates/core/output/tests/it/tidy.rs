//! Habits of the house that neither the compiler nor clippy holds: see STYLE.md.

use crate::expect::{expect_file, root};

mod codes;
mod doors;
mod layers;
mod paths;
mod shape;
mod source;
mod words;

use source::Source;

#[test]
fn rooms_and_modules_use_only_those_below_them() {
    let sources = Source::rust();
    assert_tidy(layers::modules_without_a_row(&sources));
    assert_tidy(sources.iter().flat_map(layers::edges_not_allowed));
}

#[test]
fn every_file_says_what_it_is_for() {
    assert_tidy(Source::rust().iter().filter_map(shape::without_module_docs));
    assert_tidy(
        Source::scripts()
            .iter()
            .filter_map(shape::without_strict_mode_or_purpose),
    );
}

#[test]
fn files_stay_short_or_say_why_not() {
    assert_tidy(shape::too_long(&Source::rust()));
}

#[test]
fn nothing_half_done_and_no_switched_off_check_is_left() {
    assert_tidy(Source::rust().iter().flat_map(words::in_rust));
    assert_tidy(Source::scripts().iter().flat_map(words::in_script));
}

#[test]
fn no_test_ends_before_it_has_looked() {
    assert_tidy(Source::rust().iter().flat_map(words::early_ends));
}

#[test]
fn no_path_of_one_machine_is_written_down() {
    assert_tidy(
        Source::rust()
            .iter()
            .chain(&Source::scripts())
            .flat_map(paths::of_one_machine),
    );
}

#[test]
fn foreign_text_goes_around_no_door() {
    let sources = Source::rust();
    assert_tidy(sources.iter().flat_map(doors::around_the_terminal));
    assert_tidy(sources.iter().flat_map(doors::made_elsewhere));
}

#[test]
fn generated_text_is_up_to_date() {
    for (path, text) in generated() {
        expect_file(path, &text);
    }
}

/// Every file that is made from the code, wholly or between two markers.
fn generated() -> [(&'static str, String); 2] {
    let blocks = [
        ("ARCHITECTURE.md", "layers", layers::as_markdown()),
        ("docs/analyze.md", "codes", codes::as_markdown()),
    ];
    blocks.map(|(path, name, block)| {
        let text = std::fs::read_to_string(root().join(path)).expect("the file is there");
        (path, with_block(&text, name, &block))
    })
}

/// The text with what stands between `<!-- name -->` and `<!-- /name -->` replaced.
fn with_block(text: &str, name: &str, block: &str) -> String {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (head, rest) = text
        .split_once(&open)
        .expect("the block has a start marker");
    let (_, tail) = rest
        .split_once(&close)
        .expect("the block has an end marker");
    format!("{head}{open}{block}{close}{tail}")
}

#[track_caller]
fn assert_tidy(problems: impl IntoIterator<Item = String>) {
    let problems: Vec<_> = problems.into_iter().collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
