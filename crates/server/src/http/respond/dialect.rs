//! One outcome, four wordings. The path chooses; where it speaks several, `Api-Version` does.

use rules::outcome::{FieldError, Problem, Refusal};
use rules::time::Moment;
use salvo::http::{HeaderMap, HeaderName};

use crate::http::wire::{moment, seed_moment};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The canonical one.
    V1_1,
    V1_0,
    V2025_08_17,
    /// Of the paths below `/v1`; no header chooses it.
    Seed004,
}

/// What a path speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// 1.1 only; the header is checked and changes nothing.
    Plain,
    /// The fifth specification's only; the header is checked and changes nothing.
    Seed004,
    /// Every dialect; this one where the header names none.
    Every(Dialect),
}

impl Speech {
    /// In which a request is refused that names no dialect we know.
    pub fn own(self) -> Dialect {
        match self {
            Speech::Plain | Speech::Every(_) => Dialect::V1_1,
            Speech::Seed004 => Dialect::Seed004,
        }
    }
}

pub const API_VERSION: HeaderName = HeaderName::from_static("api-version");

impl Dialect {
    pub const ALL: [Dialect; 4] = [Dialect::V1_1, Dialect::V1_0, Dialect::V2025_08_17, Dialect::Seed004];
    pub const BY_HEADER: [Dialect; 3] = [Dialect::V1_1, Dialect::V1_0, Dialect::V2025_08_17];
    pub const NAMES: &'static [&'static str] = &["1.1", "1.0", "2025-08-17"];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::V1_1 => "1.1",
            Dialect::V1_0 => "1.0",
            Dialect::V2025_08_17 => "2025-08-17",
            Dialect::Seed004 => "v1",
        }
    }

    /// How it writes a moment. Those of the seeds leave zeros at the end out.
    pub fn moment(self) -> fn(Moment) -> String {
        match self {
            Dialect::V1_1 => moment,
            Dialect::V1_0 | Dialect::V2025_08_17 | Dialect::Seed004 => seed_moment,
        }
    }

    pub fn asked(headers: &HeaderMap, speech: Speech) -> Result<Dialect, Refusal> {
        let mut asked = headers.get_all(API_VERSION).iter();
        let named = asked.next();
        if asked.next().is_some() {
            return Err(FieldError::refused("Api-Version", Problem::Repeated));
        }
        let known = |name: &[u8]| Dialect::BY_HEADER.into_iter().find(|dialect| dialect.name().as_bytes() == name);
        let named = match named {
            None => None,
            Some(name) => match known(name.as_bytes()) {
                None => return Err(FieldError::refused("Api-Version", Problem::OneOf(Dialect::NAMES))),
                dialect => dialect,
            },
        };
        Ok(match speech {
            Speech::Plain => Dialect::V1_1,
            Speech::Seed004 => Dialect::Seed004,
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
            for unknown in ["", "2", "1.10", "1.1 ", "v1.1", "v1"] {
                assert!(matches!(asked(Some(unknown), speech), Err(Refusal::Invalid(_))), "{unknown}");
            }
        }
        let mut twice = HeaderMap::new();
        twice.append(API_VERSION, "1.1".parse().unwrap());
        twice.append(API_VERSION, "1.1".parse().unwrap());
        assert!(Dialect::asked(&twice, every).is_err());
        assert_eq!(Dialect::NAMES, Dialect::BY_HEADER.map(Dialect::name));
    }
}
