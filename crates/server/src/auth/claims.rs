//! What a token says, read strictly: a name that stands twice is refused, whatever it is. Readers that take
//! the first or the last of two could be made to disagree.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// The header of a token.
#[derive(Debug, Default, PartialEq)]
pub struct TokenHeader {
    pub algorithm: String,
    pub key_id: Option<String>,
    kind: Option<String>,
    /// It brings a key, says where to get one, or demands an extension.
    pub foreign: bool,
}

impl TokenHeader {
    /// Tokens of other kinds (`logout+jwt`, `dpop+jwt`) may have the same issuer, and let nobody in.
    pub fn is_access_token(&self) -> bool {
        let Some(kind) = &self.kind else { return true };
        let kind = kind.to_ascii_lowercase();
        matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt")
    }
}

/// The claims that decide. jsonwebtoken checks `iss` and `aud`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    pub sub: String,
    pub exp_ms: i64,
    pub nbf_ms: Option<i64>,
}

/// A JSON object whose fields are read one by one.
trait ByField: Default {
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;

    fn complete(&self) -> Result<(), &'static str>;
}

impl ByField for TokenHeader {
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "alg" => self.algorithm = map.next_value()?,
            "kid" => self.key_id = Some(map.next_value()?),
            "typ" => self.kind = Some(map.next_value()?),
            "jwk" | "jku" | "x5u" | "x5c" | "crit" | "enc" | "zip" => {
                self.foreign = true;
                map.next_value::<IgnoredAny>()?;
            }
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn complete(&self) -> Result<(), &'static str> {
        if self.algorithm.is_empty() { Err("alg") } else { Ok(()) }
    }
}

impl ByField for Claims {
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "sub" => self.sub = map.next_value()?,
            "exp" => self.exp_ms = map.next_value::<NumericDate>()?.0,
            "nbf" => self.nbf_ms = Some(map.next_value::<NumericDate>()?.0),
            // One text; jsonwebtoken would take a list.
            "iss" => drop(map.next_value::<String>()?),
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn complete(&self) -> Result<(), &'static str> {
        match (self.exp_ms, self.sub.as_str()) {
            (0, _) => Err("exp"),
            (_, "") => Err("sub"),
            _ => Ok(()),
        }
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: ByField> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let (mut read, mut seen) = (T::default(), HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            read.read(&name, &mut map)?;
            if !seen.insert(name) {
                return Err(A::Error::custom("a name stands twice"));
            }
        }
        read.complete().map_err(A::Error::missing_field)?;
        Ok(read)
    }
}

impl<'de> Deserialize<'de> for TokenHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TokenHeader, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Claims, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// Seconds since 1970, whole or not, as milliseconds.
struct NumericDate(i64);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NumericDate, D::Error> {
        /// The year 9999: sums with it cannot overflow.
        const LAST_S: f64 = 253_402_300_799.0;
        let seconds = f64::deserialize(deserializer)?;
        if !seconds.is_finite() || seconds <= 0.0 {
            return Err(D::Error::custom("not a time"));
        }
        Ok(NumericDate((seconds.min(LAST_S) * 1_000.0) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(text: &str) -> Option<Claims> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn claims_are_read_strictly() {
        let read = claims(r#"{"sub":"alice","exp":1800000000.5,"nbf":1,"aud":["a"],"x":{"y":[1]}}"#).unwrap();
        assert_eq!(read, Claims { sub: "alice".into(), exp_ms: 1_800_000_000_500, nbf_ms: Some(1_000) });
        assert_eq!(claims(r#"{"sub":"a","exp":1e300}"#).unwrap().exp_ms, 253_402_300_799_000);
        for bad in [
            r#"{"sub":"alice"}"#,
            r#"{"exp":1}"#,
            r#"{"sub":"","exp":1}"#,
            r#"{"sub":7,"exp":1}"#,
            r#"{"sub":null,"exp":1}"#,
            r#"{"sub":"alice","exp":"1"}"#,
            r#"{"sub":"alice","exp":null}"#,
            r#"{"sub":"alice","exp":0}"#,
            r#"{"sub":"alice","exp":-1}"#,
            r#"{"sub":"alice","exp":1,"nbf":"1"}"#,
            r#"{"sub":"alice","exp":1,"sub":"bob"}"#,
            r#"{"sub":"alice","exp":1,"exp":1}"#,
            r#"{"sub":"alice","exp":1,"s\u0075b":"bob"}"#,
            r#"{"sub":"alice","exp":1,"x":1,"x":1}"#,
            r#"{"sub":"alice","exp":1,"iss":["a","b"]}"#,
            r#"{"sub":"alice","exp":1} {}"#,
            r#"["sub","exp"]"#,
            "",
        ] {
            assert_eq!(claims(bad), None, "{bad}");
        }
    }

    #[test]
    fn headers_are_read_strictly() {
        let header = |text: &str| serde_json::from_str::<TokenHeader>(text).ok();
        let plain = header(r#"{"typ":"JWT","alg":"RS256","kid":"a","x5t":"b"}"#).unwrap();
        assert!(plain.is_access_token() && !plain.foreign && plain.key_id.as_deref() == Some("a"));
        for (name, value) in [("jwk", "{}"), ("jku", "\"u\""), ("x5u", "\"u\""), ("x5c", "[]"), ("crit", "[\"b64\"]")] {
            assert!(header(&format!(r#"{{"alg":"RS256","{name}":{value}}}"#)).unwrap().foreign, "{name}");
        }
        for (kind, good) in [("jwt", true), ("at+jwt", true), ("application/AT+JWT", true), ("logout+jwt", false)] {
            let header = header(&format!(r#"{{"alg":"RS256","typ":"{kind}"}}"#)).unwrap();
            assert_eq!(header.is_access_token(), good, "{kind}");
        }
        for bad in [r#"{"kid":"a"}"#, r#"{"alg":"HS256","alg":"RS256"}"#, r#"{"alg":1}"#, r#"{"alg":"HS256","kid":1}"#]
        {
            assert_eq!(header(bad), None, "{bad}");
        }
    }
}
