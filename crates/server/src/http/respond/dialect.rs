//! One outcome, three wordings. `Api-Version` chooses.

use rules::outcome::{FieldError, Problem, Refusal};
use salvo::http::{HeaderMap, HeaderName};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    V1_1,
    V1_0,
    V2025_08_17,
}

/// What a path speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// 1.1 only; the header is checked and changes nothing.
    Plain,
    /// Every dialect; this one where the header names none.
    Every(Dialect),
}

pub const API_VERSION: HeaderName = HeaderName::from_static("api-version");

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::V1_1, Dialect::V1_0, Dialect::V2025_08_17];
    pub const NAMES: &'static [&'static str] = &["1.1", "1.0", "2025-08-17"];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::V1_1 => "1.1",
            Dialect::V1_0 => "1.0",
            Dialect::V2025_08_17 => "2025-08-17",
        }
    }

    pub fn asked(headers: &HeaderMap, speech: Speech) -> Result<Dialect, Refusal> {
        let mut asked = headers.get_all(API_VERSION).iter();
        let named = asked.next();
        if asked.next().is_some() {
            return Err(FieldError::refused("Api-Version", Problem::Repeated));
        }
        let known = |name: &[u8]| Dialect::ALL.into_iter().find(|dialect| dialect.name().as_bytes() == name);
        let named = match named {
            None => None,
            Some(name) => match known(name.as_bytes()) {
                None => return Err(FieldError::refused("Api-Version", Problem::OneOf(Dialect::NAMES))),
                dialect => dialect,
            },
        };
        Ok(match speech {
            Speech::Plain => Dialect::V1_1,
            Speech::Every(default) => named.unwrap_or(default),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(version: Option<&str>, speech: Speech) -> Result<Dialect, Refusal> {
        let mut headers = HeaderMap::new();
        if let Some(version) = version {
            headers.insert(API_VERSION, version.parse().unwrap());
        }
        Dialect::asked(&headers, speech)
    }

    #[test]
    fn header_and_path_choose() {
        let every = Speech::Every(Dialect::V1_0);
        assert_eq!(asked(None, every), Ok(Dialect::V1_0));
        assert_eq!(asked(Some("1.1"), every), Ok(Dialect::V1_1));
        assert_eq!(asked(Some("2025-08-17"), every), Ok(Dialect::V2025_08_17));
        assert_eq!(asked(Some("1.0"), Speech::Plain), Ok(Dialect::V1_1), "checked, and nothing else");
        for speech in [every, Speech::Plain] {
            for unknown in ["", "2", "1.10", "1.1 ", "v1.1"] {
                assert!(matches!(asked(Some(unknown), speech), Err(Refusal::Invalid(_))), "{unknown}");
            }
        }
        let mut twice = HeaderMap::new();
        twice.append(API_VERSION, "1.1".parse().unwrap());
        twice.append(API_VERSION, "1.1".parse().unwrap());
        assert!(Dialect::asked(&twice, every).is_err());
        assert_eq!(Dialect::NAMES, Dialect::ALL.map(Dialect::name));
    }
}
