//! What YAML 1.1 takes for a number, a truth value, nothing or a time.

/// Whether a YAML 1.1 reader would take the plain text for something that is no string.
pub(super) fn reads_as_another_type(text: &str) -> bool {
    is_word(text) || is_number(text) || is_base_60(text) || is_timestamp(text)
}

#[rustfmt::skip]
fn is_word(text: &str) -> bool {
    matches!(
        text,
        "" | "~" | "null" | "Null" | "NULL"
        | "true" | "True" | "TRUE" | "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON"
        | "false" | "False" | "FALSE" | "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF"
        | ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF"
        | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF"
        // The merge key and the default value: go-yaml writes them plain, Python's reader stumbles
        // over them.
        | "<<" | "="
    )
}

/// Integers in base 2, 8, 10 and 16 and floats, `_` between the digits allowed.
fn is_number(text: &str) -> bool {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return false;
    }
    let plain = text.replace('_', "").to_ascii_lowercase();
    let plain = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let all = |digits: &str, radix| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    match plain.get(..2) {
        Some("0x") => all(&plain[2..], 16),
        Some("0o") => all(&plain[2..], 8),
        Some("0b") => all(&plain[2..], 2),
        _ => is_decimal(plain),
    }
}

/// `1`, `1.`, `.5`, `1.5`, each with or without an exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = text
        .split_once('e')
        .map_or((text, None), |(m, e)| (m, Some(e)));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let exponent = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    exponent && digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

/// `1:30`, which YAML 1.1 reads as ninety.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = text.split(':');
    let whole = parts.next().unwrap_or_default();
    let is_part =
        |part: &str| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    text.contains(':')
        && whole.starts_with(|c: char| c.is_ascii_digit())
        && digits(whole)
        && digits(fraction)
        && parts.all(is_part)
}

/// A date, or a date and a time. Whether such a day exists does not matter: a reader that sees the
/// form may fail.
fn is_timestamp(text: &str) -> bool {
    let mut rest = text;
    if !(take_digits(&mut rest, 4, 4) && take(&mut rest, '-') && take_digits(&mut rest, 1, 2)) {
        return false;
    }
    if !(take(&mut rest, '-') && take_digits(&mut rest, 1, 2)) {
        return false;
    }
    rest.is_empty() || is_time_of_day(rest)
}

/// ` 15:04:05`, `T15:04:05.5Z` or `t15:04:05 +02:00`.
fn is_time_of_day(text: &str) -> bool {
    let Some(mut rest) = text
        .strip_prefix(['T', 't', ' '])
        .map(|t| t.trim_start_matches(' '))
    else {
        return false;
    };
    let clock = take_digits(&mut rest, 1, 2)
        && take(&mut rest, ':')
        && take_digits(&mut rest, 1, 2)
        && take(&mut rest, ':')
        && take_digits(&mut rest, 1, 2);
    if clock && (take(&mut rest, '.') || take(&mut rest, ',')) {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let zone = rest.trim_start_matches(' ');
    clock && (zone.is_empty() || zone == "Z" || is_offset(zone))
}

fn is_offset(text: &str) -> bool {
    let mut rest = text;
    (take(&mut rest, '+') || take(&mut rest, '-'))
        && take_digits(&mut rest, 1, 2)
        && (rest.is_empty()
            || take(&mut rest, ':') && take_digits(&mut rest, 2, 2) && rest.is_empty())
}

fn take(rest: &mut &str, c: char) -> bool {
    rest.strip_prefix(c)
        .inspect(|after| *rest = after)
        .is_some()
}

/// Takes digits off the front, as many as there are; false when there are fewer or more than asked
/// for.
fn take_digits(rest: &mut &str, least: usize, most: usize) -> bool {
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    *rest = &rest[count..];
    (least..=most).contains(&count)
}
