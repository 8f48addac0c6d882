//! Sizes such as `4GiB`, `500MB`, `1048576`.

/// Reads a size in bytes.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => 1 << 20,
        "g" | "gi" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => {
            return Err(format!(
                "`{unit}` is no unit: try KiB, MiB, GiB, KB, MB or GB"
            ));
        }
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "a size is a number and a unit, such as 4GiB".to_owned())?;
    number
        .checked_mul(factor)
        .ok_or_else(|| "too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse("4GiB"), Ok(4 << 30));
        assert_eq!(parse("10MB"), Ok(10_000_000));
        assert_eq!(parse("7"), Ok(7));
        for wrong in ["", "x", "1Q", "99999999999GiB", "-1", "1.5GiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
