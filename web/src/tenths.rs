//! Numbers with one decimal. Formatting floats of any size and precision would need more machine code.

/// Formats tenths as a decimal number: -5 is "-0.5".
pub fn tenths(number: i32) -> String {
    let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
    format!("{sign}{}.{}", size / 10, size % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_comes_after_the_point() {
        let shown = [0, 7, -5, 10, -123, i32::MIN].map(tenths);
        assert_eq!(shown, ["0.0", "0.7", "-0.5", "1.0", "-12.3", "-214748364.8"]);
    }
}
