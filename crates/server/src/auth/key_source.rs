//! Where the keys of tokens come from, and how they stay fresh: a JWKS file is read again when it changes, a
//! JWKS address is asked again now and then. A token with a key that is not known makes both look at once.
//! What cannot be read or fetched changes nothing: the keys stay as they were.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use client::fetch::{FetchLimits, fetch};
use rules::ids::User;
use rules::outcome::Refusal;
use rules::time::Moment;
use tokio::sync::{Mutex, Semaphore};
use url::Url;

use super::keys::{JwksPlace, KeySet};
use super::token::{TokenFault, TokenReader, TokenTerms};
use super::verified::Verified;
use crate::clock::{Hands, SystemHands};

/// A JWKS file is looked at this often.
const LOOK: Duration = Duration::from_secs(1);
/// A JWKS address is asked this often.
const REFRESH: Duration = Duration::from_secs(300);
/// For tokens with unknown keys an address is not asked more often than this.
const PAUSE: Duration = Duration::from_secs(5);
/// Requests that wait for a fetch. Made-up keys must not make many wait.
const WAITING_MOST: usize = 64;
const LIMITS: FetchLimits = FetchLimits { bytes: 256 * 1024, time: Duration::from_secs(3) };
/// A file of 16 keys has a few thousand bytes.
const FILE_BYTES: u64 = 256 * 1024;

#[derive(Clone, Debug)]
pub enum KeySource {
    /// A secret or a public key, read at the start.
    Fixed,
    File(PathBuf),
    Address(Url),
}

/// What `AUTH_MODE=jwt` needs.
#[derive(Clone, Debug)]
pub struct JwtSettings {
    pub source: KeySource,
    /// None yet with an address.
    pub keys: KeySet,
    pub terms: TokenTerms,
}

/// The tokens of users.
pub struct UserTokens {
    reader: TokenReader,
    source: KeySource,
    keys: RwLock<Arc<Verified>>,
    looked: Mutex<Looked>,
    waiting: Semaphore,
}

#[derive(Default)]
struct Looked {
    /// When the address was last asked for a token's sake.
    for_a_token: Option<Instant>,
    file: Option<FileVersion>,
    /// The keys that are in use, as they were written.
    document: Option<Vec<u8>>,
    failing: bool,
}

impl UserTokens {
    pub fn new(settings: &JwtSettings) -> Arc<UserTokens> {
        Arc::new(UserTokens {
            reader: TokenReader::new(settings.terms.clone()),
            source: settings.source.clone(),
            keys: RwLock::new(Arc::new(Verified::with(settings.keys.clone()))),
            looked: Mutex::default(),
            waiting: Semaphore::new(WAITING_MOST),
        })
    }

    /// The user that a token names.
    pub async fn user(&self, token: &[u8]) -> Result<User, Refusal> {
        let keys = self.keys();
        match self.read(token, &keys) {
            Err(TokenFault::Key) if self.look_again(&keys).await => self.read(token, &self.keys()),
            Err(TokenFault::Key) if keys.keys.is_empty() => return Err(Refusal::KeysUnreachable),
            told => told,
        }
        .map_err(|fault| Refusal::BadToken(fault.problem()))
    }

    fn read(&self, token: &[u8], keys: &Verified) -> Result<User, TokenFault> {
        let claims = keys.claims(token, || self.reader.claims(token, &keys.keys))?;
        self.reader.accept(&claims, now())
    }

    /// Some token can be verified.
    pub fn ready(&self) -> bool {
        !self.keys().keys.is_empty()
    }

    fn keys(&self) -> Arc<Verified> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether there are other keys than these now.
    async fn look_again(&self, old: &Arc<Verified>) -> bool {
        if matches!(self.source, KeySource::Fixed) {
            return false;
        }
        let Ok(_waiting) = self.waiting.try_acquire() else { return false };
        let mut looked = self.looked.lock().await;
        // Somebody else may have looked while this one waited.
        let paused = looked.for_a_token.is_some_and(|at| at.elapsed() < PAUSE);
        let asks = matches!(self.source, KeySource::Address(_));
        if Arc::ptr_eq(old, &self.keys()) && !(asks && paused) {
            looked.for_a_token = Some(Instant::now());
            self.look(&mut looked).await;
        }
        !Arc::ptr_eq(old, &self.keys())
    }

    async fn look(&self, looked: &mut Looked) {
        let found = match &self.source {
            KeySource::Fixed => return,
            KeySource::File(path) => {
                let version = FileVersion::of(path);
                if version.is_some() && version == looked.file {
                    return;
                }
                looked.file = version;
                read_keys(path)
            }
            KeySource::Address(url) => fetch_keys(url).await,
        };
        match found {
            Ok((keys, document)) => {
                if looked.failing {
                    tracing::info!("the keys of tokens can be read again");
                }
                looked.failing = false;
                // The same keys keep the tokens that they verified: anybody can make the server look.
                if looked.document.as_ref() != Some(&document) {
                    looked.document = Some(document);
                    *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Verified::with(keys));
                }
            }
            Err(why) => {
                if !looked.failing {
                    tracing::warn!(why, "the keys of tokens cannot be read; the old ones stay");
                }
                looked.failing = true;
            }
        }
    }

    /// Looks for new keys for as long as the tokens are in use.
    pub async fn watch(tokens: Weak<UserTokens>) {
        loop {
            let Some(tokens) = tokens.upgrade() else { return };
            let pause = match &tokens.source {
                KeySource::Fixed => return,
                KeySource::File(_) => LOOK,
                KeySource::Address(_) => REFRESH,
            };
            let mut looked = tokens.looked.lock().await;
            tokens.look(&mut looked).await;
            let again = if looked.failing { pause.min(PAUSE) } else { pause };
            drop(looked);
            drop(tokens);
            tokio::time::sleep(again).await;
        }
    }
}

fn now() -> Moment {
    SystemHands.wall()
}

/// Tells whether a file is another one than before. A new file that was renamed into its place has another
/// number, one that was written over has another time.
#[derive(PartialEq, Eq)]
struct FileVersion {
    device: u64,
    number: u64,
    bytes: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileVersion {
    fn of(path: &Path) -> Option<FileVersion> {
        let file = std::fs::metadata(path).ok()?;
        Some(FileVersion {
            device: file.dev(),
            number: file.ino(),
            bytes: file.size(),
            written: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}

pub fn read_file(path: &Path) -> Result<KeySet, String> {
    Ok(read_keys(path)?.0)
}

/// Keys, and the document that has them.
type ReadKeys = (KeySet, Vec<u8>);

fn read_keys(path: &Path) -> Result<ReadKeys, String> {
    let named = |why: String| format!("{}: {why}", path.display());
    let bytes = std::fs::metadata(path).map_err(|e| named(e.to_string()))?.len();
    if bytes > FILE_BYTES {
        return Err(named(format!("it has {bytes} bytes: expected at most {FILE_BYTES}")));
    }
    let document = std::fs::read(path).map_err(|e| named(e.to_string()))?;
    Ok((KeySet::of_jwks(&document, JwksPlace::File).map_err(named)?, document))
}

async fn fetch_keys(url: &Url) -> Result<ReadKeys, String> {
    let named = |why: String| format!("{url}: {why}");
    let document = fetch(url, LIMITS).await.map_err(|why| named(why.to_string()))?.to_vec();
    Ok((KeySet::of_jwks(&document, JwksPlace::Address).map_err(named)?, document))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// An issuer with one key, by its name.
    fn issuer(name: &str) -> String {
        let key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"{name}","x":"{key}"}}]}}"#)
    }

    /// An address that answers with one document after the other.
    fn serving(documents: Vec<String>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap()).parse().unwrap();
        std::thread::spawn(move || {
            for body in documents {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4_096]).unwrap();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
            }
        });
        url
    }

    /// A token with a made-up key makes the server look; others must not have to be verified again for that.
    #[tokio::test]
    async fn same_keys_keep_the_tokens_that_they_verified() {
        let source = KeySource::Address(serving(vec![issuer("one"), issuer("one"), issuer("two")]));
        let terms = TokenTerms { issuers: Vec::new(), audiences: Vec::new(), leeway_ms: 0 };
        let tokens = UserTokens::new(&JwtSettings { source, keys: KeySet::default(), terms });
        let mut looked = tokens.looked.lock().await;
        tokens.look(&mut looked).await;
        let first = tokens.keys();
        assert!(!first.keys.is_empty());
        tokens.look(&mut looked).await;
        assert!(Arc::ptr_eq(&first, &tokens.keys()), "the same keys");
        tokens.look(&mut looked).await;
        assert!(!Arc::ptr_eq(&first, &tokens.keys()), "other keys");
    }
}
