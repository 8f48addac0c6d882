//! What is wrong with a query that a user wrote.

/// Looks for brackets and strings that do not close, which are most slips in a shell.
///
/// # Errors
/// What is wrong, and where.
pub(super) fn check(query: &str) -> Result<(), String> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut letters = query.chars().zip(1..);
    while let Some((letter, at)) = letters.next() {
        match letter {
            '(' | '[' | '{' => open.push((at, letter)),
            ')' | ']' | '}' => match open.pop() {
                Some((_, before)) if closing(before) == letter => {}
                Some((place, before)) => {
                    return Err(format!(
                        "`{letter}` at {at} does not close `{before}` at {place}"
                    ));
                }
                None => return Err(format!("`{letter}` at {at} closes nothing")),
            },
            '"' | '\'' | '`' if !skip_string(letter, &mut letters) => {
                return Err(format!("the string at {at} does not end"));
            }
            // "PromQL supports line comments that start with #."
            '#' => {
                letters.by_ref().find(|(letter, _)| *letter == '\n');
            }
            _ => {}
        }
    }
    match open.pop() {
        Some((at, letter)) => Err(format!("`{letter}` at {at} is not closed")),
        None if query.trim().is_empty() => Err("it is empty".to_owned()),
        None => Ok(()),
    }
}

/// What Prometheus says of a query that it cannot parse, without what we know: which parameter.
pub(super) fn parse_error(said: &str) -> Option<&str> {
    let said = said.strip_prefix("bad_data: ")?;
    let said = said
        .strip_prefix("invalid parameter \"query\": ")
        .unwrap_or(said);
    said.contains("parse error").then_some(said)
}

fn closing(bracket: char) -> char {
    match bracket {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// Whether the string ends. "No escaping is processed inside backticks."
fn skip_string(quote: char, letters: &mut impl Iterator<Item = (char, usize)>) -> bool {
    while let Some((letter, _)) = letters.next() {
        if letter == quote {
            return true;
        }
        if letter == '\\' && quote != '`' {
            letters.next();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_strings_that_do_not_close_are_told_by_their_place() {
        for (query, expected) in [
            ("sum by (x (up)", "`(` at 8 is not closed"),
            ("up{a=\"b\"", "`{` at 3 is not closed"),
            ("rate(up[5m)", "`)` at 11 does not close `[` at 8"),
            ("up)", "`)` at 3 closes nothing"),
            ("up{a=\"b}", "the string at 6 does not end"),
            (" ", "it is empty"),
        ] {
            assert_eq!(check(query).expect_err(query), expected);
        }
    }

    #[test]
    fn what_strings_and_comments_hold_is_left_alone() {
        for query in [
            "up{a=\"(\\\"[\", b='}', c=`\\`} # (",
            "sum by (a) (rate(up[5m] offset 1h))",
            "{\"utf8.name\", a=~\".+\"}",
        ] {
            assert_eq!(check(query), Ok(()), "{query}");
        }
    }

    #[test]
    fn a_parse_error_of_the_server_is_a_mistake_in_the_query() {
        let said =
            "bad_data: invalid parameter \"query\": 1:4: parse error: unexpected end of input";
        assert_eq!(
            parse_error(said),
            Some("1:4: parse error: unexpected end of input")
        );
        assert_eq!(parse_error("execution: too many samples"), None);
    }
}
