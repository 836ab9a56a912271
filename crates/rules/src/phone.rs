//! Telephone numbers as E.164. This file parses numbers that begin with `+`, and the usual Korean forms. It checks the
//! length only: number plans change, and a wrong refusal costs the buyer the sale.

/// The result of the quick check of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhoneReading {
    /// Canonical E.164.
    Number(String),
    /// Certainly no telephone number.
    Impossible,
    /// A national form of another region: check it with that region's tables.
    National,
}

const LONGEST_TEXT: usize = 32;

/// Parses `text` for a sale in `region` (ISO 3166, upper case).
pub fn read(text: &str, region: &str) -> PhoneReading {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_TEXT {
        return PhoneReading::Impossible;
    }
    let (international, rest) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut digits = String::with_capacity(rest.len() + 3);
    for c in rest.chars() {
        match c {
            '0'..='9' => digits.push(c),
            ' ' | '-' | '.' | '(' | ')' | '/' => {}
            _ => return PhoneReading::Impossible,
        }
    }
    if international { from_plus(&digits) } else { national(&digits, region) }
}

fn from_plus(digits: &str) -> PhoneReading {
    if let Some(rest) = digits.strip_prefix("82") {
        // "+82 (0)10-..." is a common way to write it; the trunk 0 is not part of the number.
        return korean(rest.strip_prefix('0').unwrap_or(rest));
    }
    if (7..=15).contains(&digits.len()) && !digits.starts_with('0') {
        PhoneReading::Number(format!("+{digits}"))
    } else {
        PhoneReading::Impossible
    }
}

fn national(digits: &str, region: &str) -> PhoneReading {
    if region != "KR" {
        return PhoneReading::National;
    }
    match digits.strip_prefix('0') {
        Some(rest) => korean(rest),
        None => PhoneReading::Impossible,
    }
}

/// A Korean number without its trunk 0: 8 to 10 digits (2-123-4567 to 10-1234-5678; 70 and 505 numbers are in between).
fn korean(rest: &str) -> PhoneReading {
    if (8..=10).contains(&rest.len()) && !rest.starts_with('0') {
        PhoneReading::Number(format!("+82{rest}"))
    } else {
        PhoneReading::Impossible
    }
}

/// Masks a number for logs and for everybody but the admin: the last four digits are hidden. The first digits are not
/// secret.
pub fn masked(e164: &str) -> String {
    let keep = e164.len().saturating_sub(4).min(6);
    e164.chars().enumerate().map(|(i, c)| if i < keep { c } else { '*' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_forms() {
        let number = |t: &str| read(t, "KR");
        let alice = PhoneReading::Number("+821012345678".into());
        for text in [
            "010-1234-5678",
            "01012345678",
            "+821012345678",
            "+82 10 1234 5678",
            "+82 (0)10-1234-5678",
            " 010.1234.5678 ",
        ] {
            assert_eq!(number(text), alice, "{text}");
        }
        assert_eq!(number("02-123-4567"), PhoneReading::Number("+8221234567".into()));
        assert_eq!(number("+14155552671"), PhoneReading::Number("+14155552671".into()));
        for text in [
            "",
            "abc",
            "12",
            "010-12",
            "+",
            "+0123456789",
            "0101234567890",
            "010-1234-567a",
            "+12345",
            "1234-5678",
            "００１０",
        ] {
            assert_eq!(number(text), PhoneReading::Impossible, "{text}");
        }
        assert_eq!(read("(415) 555-2671", "US"), PhoneReading::National);
    }

    #[test]
    fn masks_the_end() {
        assert_eq!(masked("+821012345678"), "+82101*******");
        assert_eq!(masked("+82"), "***");
    }
}
