//! The language of messages. `Accept-Language` chooses; English where it prefers neither.

use salvo::http::HeaderMap;
use salvo::http::header::ACCEPT_LANGUAGE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    Korean,
}

/// At most this many language ranges are read; the rest is ignored. No browser sends as many.
pub const RANGES_MOST: usize = 32;

/// How much a language is wanted: the weight in thousandths, and the place of the range that says so.
#[derive(Clone, Copy)]
struct Wish {
    weight: u16,
    place: usize,
}

impl Language {
    pub const ALL: [Language; 2] = [Language::English, Language::Korean];

    /// As in `Content-Language`.
    pub fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Korean => "ko",
        }
    }

    /// The language with the higher weight; of equal weights the one that is named first. `*` speaks for
    /// a language that is not named. `gateway/lua/language.lua` does the same.
    pub fn asked(headers: &HeaderMap) -> Language {
        let mut english = None;
        let mut korean = None;
        let mut other = None;
        let values = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok());
        for (place, range) in values.flat_map(|value| value.split(',')).take(RANGES_MOST).enumerate() {
            let Some((name, weight)) = read(range) else { continue };
            let wish = match name {
                "*" => &mut other,
                name if is(name, Language::English) => &mut english,
                name if is(name, Language::Korean) => &mut korean,
                _ => continue,
            };
            if wish.is_none_or(|wish: Wish| wish.weight < weight) {
                *wish = Some(Wish { weight, place });
            }
        }
        match (korean.or(other), english.or(other)) {
            (Some(korean), _) if korean.weight == 0 => Language::English,
            (Some(_), None) => Language::Korean,
            (Some(korean), Some(english)) => {
                let first = korean.weight == english.weight && korean.place < english.place;
                if korean.weight > english.weight || first { Language::Korean } else { Language::English }
            }
            (None, _) => Language::English,
        }
    }
}

/// `ko`, `KO`, `ko-KR`.
fn is(range: &str, language: Language) -> bool {
    range.split('-').next().is_some_and(|primary| primary.eq_ignore_ascii_case(language.tag()))
}

/// A language range and its weight. What is not written as RFC 9110 writes it is passed over.
fn read(range: &str) -> Option<(&str, u16)> {
    let space = [' ', '\t'];
    let (name, weight) = match range.split_once(';') {
        None => (range, 1_000),
        Some((name, weight)) => {
            let weight = weight.trim_matches(space);
            (name, thousandths(weight.strip_prefix("q=").or(weight.strip_prefix("Q="))?)?)
        }
    };
    let name = name.trim_matches(space);
    let letters = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (letters || name == "*").then_some((name, weight))
}

/// `0`, `1`, or either with up to three digits behind the point; not above 1.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
    if !matches!(whole, "0" | "1") || behind.len() > 3 || !behind.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let units = behind.bytes().zip([100, 10, 1]).map(|(digit, unit)| u16::from(digit - b'0') * unit);
    let weight = if whole == "1" { 1_000 } else { 0 } + units.sum::<u16>();
    (weight <= 1_000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(values: &[&str]) -> Language {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT_LANGUAGE, value.parse().unwrap());
        }
        Language::asked(&headers)
    }

    #[test]
    fn higher_weight_wins() {
        for korean in [
            "ko",
            "ko-KR",
            "KO-kr",
            "ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7",
            "en;q=0.8, ko;q=0.9",
            "en;q=0.8 ,\tko ; Q=0.801",
            "fr, ko;q=0.1",
            "ko;q=0.001",
            "ko, en",
            "ko, *",
            "*, en;q=0.5",
            "en;q=0, ko;q=0.2",
            "ko;q=x, ko;q=0.5",
            "ko;q=0.2, ko-KR;q=0.9, en;q=0.5",
            "ko,,",
        ] {
            assert_eq!(asked(&[korean]), Language::Korean, "{korean}");
        }
        for english in [
            "",
            ",",
            "en",
            "fr",
            "*",
            "en, ko",
            "en-GB, ko;q=0.9",
            "ko;q=0",
            "ko;q=0.000",
            "kok",
            "korean",
            "*;q=0.9, ko;q=0.5",
            "ko;q=1.1",
            "ko;q=1.0000",
            "ko;q=-1",
            "ko;q=",
            "ko;q=05",
            "ko;q= 1",
            "ko;q=.5",
            "ko;level=1",
            "ko;q=1;q=1",
            "k o",
            "*-KR, en;q=0.1",
        ] {
            assert_eq!(asked(&[english]), Language::English, "{english}");
        }
        assert_eq!(Language::asked(&HeaderMap::new()), Language::English);
        assert_eq!(asked(&["en;q=0.5", "ko"]), Language::Korean, "several lines are one list");
        let many = "fr,".repeat(RANGES_MOST - 1);
        assert_eq!(asked(&[&format!("{many}ko")]), Language::Korean);
        assert_eq!(asked(&[&format!("{many}fr,ko")]), Language::English, "bounded");
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT_LANGUAGE, salvo::http::HeaderValue::from_bytes(b"ko,\xff").unwrap());
        assert_eq!(Language::asked(&headers), Language::English, "not text");
    }

    proptest! {
        #[test]
        fn any_header_chooses(value in "[ -~\t]{0,300}", ranges in "((ko|en|\\*|fr)(-KR)?(;q=[01](\\.[0-9]{0,3})?)?, ?){0,40}") {
            for value in [value, ranges] {
                if let Ok(value) = value.parse() {
                    let mut headers = HeaderMap::new();
                    headers.insert(ACCEPT_LANGUAGE, value);
                    prop_assert!(Language::ALL.contains(&Language::asked(&headers)));
                }
            }
        }
    }
}
