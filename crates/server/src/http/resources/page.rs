//! The pages, as `web/dist` has them: HTML that a browser asks for each time, and files whose names carry a hash of
//! their content, which it keeps for ever. Scripts and styles are files of their own, so that the policy forbids
//! all inline ones, and nothing comes from elsewhere.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use flate2::Compression;
use flate2::write::GzEncoder;
use rules::outcome::Refusal;
use rust_embed::Embed;
use salvo::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, VARY};
use salvo::http::{HeaderMap, HeaderValue, Method};
use salvo::hyper::body::Bytes;
use sha2::{Digest, Sha256};

use super::seats::{has_already, takes_gzip};
use crate::app::App;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::settings::AuthMode;

/// What `make web` builds.
#[derive(Embed)]
#[folder = "../../web/dist/"]
struct Built;

const TRY: &str = include_str!("page.html");
const MISSING: &str = "missing.html";
const NOTHING_FROM_ELSEWHERE: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const ICO: &str = "image/x-icon";
const PNG: &str = "image/png";

/// How the built pages say who a user is; the server writes its own settings in its place, and whether only the
/// shop confirms holds.
const IDENTITY: &str = "data-identity=\"header X-User-Id\"";

/// A file under `/assets/`, compressed once for everybody.
struct Asset {
    kind: &'static str,
    plain: Bytes,
    /// None: it is no shorter.
    gzipped: Option<Bytes>,
    etag: String,
    /// Its name changes with its content.
    hashed: bool,
}

static ASSETS: LazyLock<HashMap<String, Asset>> = LazyLock::new(|| {
    let written = [
        ("page.css", include_str!("page.css")),
        ("page.js", include_str!("page.js")),
        ("docs.css", include_str!("docs.css")),
        ("docs.js", include_str!("docs.js")),
    ];
    let own = written.map(|(name, text)| (name.to_owned(), Bytes::from(text)));
    let built = Built::iter().filter_map(|path| {
        let name = path.strip_prefix("assets/")?.to_owned();
        Some((name, Bytes::from(Built::get(&path)?.data.into_owned())))
    });
    own.into_iter().chain(built).filter_map(|(name, bytes)| Some((name.clone(), Asset::new(&name, bytes)?))).collect()
});

impl Asset {
    fn new(name: &str, plain: Bytes) -> Option<Asset> {
        let (stem, ending) = name.rsplit_once('.')?;
        let kind = match ending {
            "css" => CSS,
            "js" => JAVASCRIPT,
            "svg" => SVG,
            "ico" => ICO,
            "png" => PNG,
            _ => return None,
        };
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        let gzipped = gzip.write_all(&plain).and_then(|()| gzip.finish()).ok().map(Bytes::from);
        let gzipped = gzipped.filter(|short| short.len() < plain.len());
        Some(Asset { kind, gzipped, etag: etag(&plain), hashed: stem.contains('-') && kind != PNG, plain })
    }
}

fn etag(bytes: &[u8]) -> String {
    format!("\"{}\"", hex::encode(&Sha256::digest(bytes)[..8]))
}

pub async fn file(_: Arc<App>, call: Call) -> Handled {
    asset(&call, &call.request.id::<String>("file")?).await
}

/// The icons stand at the root: browsers and phones ask for them there, whatever the page says.
pub async fn icon(_: Arc<App>, call: Call) -> Handled {
    asset(&call, call.request.uri.path().trim_start_matches('/')).await
}

async fn asset(call: &Call, name: &str) -> Handled {
    let asset = ASSETS.get(name).ok_or(Refusal::NotFound)?;
    let vary = HeaderValue::from_static("Accept-Encoding");
    if has_already(&call.request.headers, &asset.etag) {
        return Ok(Reply::unchanged().tagged(&asset.etag).with(VARY, vary));
    }
    let reply = match asset.gzipped.as_ref().filter(|_| takes_gzip(&call.request.headers)) {
        Some(gzipped) => {
            Reply::text(asset.kind, gzipped.clone()).with(CONTENT_ENCODING, HeaderValue::from_static("gzip"))
        }
        None => Reply::text(asset.kind, asset.plain.clone()),
    };
    let reply = reply.with(VARY, vary);
    Ok(if asset.hashed {
        reply.with(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"))
    } else {
        // A browser asks each time whether it changed, so that a page never runs with the script of an older one.
        reply.tagged(&asset.etag)
    })
}

/// The page at this path.
pub async fn get(app: Arc<App>, call: Call) -> Handled {
    let first = call.request.uri.path().split('/').nth(1).unwrap_or_default();
    let text = match first {
        "" => built(&app, "index.html"),
        "try" => Some(TRY.to_owned()),
        "events" => {
            // What cannot be an event has no page.
            call.request.event()?;
            built(&app, "event.html")
        }
        name => built(&app, &format!("{name}.html")),
    };
    let text = text.ok_or(Refusal::NotFound)?;
    let etag = etag(text.as_bytes());
    if has_already(&call.request.headers, &etag) {
        return Ok(guarded(Reply::unchanged().tagged(&etag)));
    }
    Ok(guarded(Reply::text(HTML, text).tagged(&etag)))
}

fn guarded(reply: Reply) -> Reply {
    reply.with(CONTENT_SECURITY_POLICY, HeaderValue::from_static(NOTHING_FROM_ELSEWHERE))
}

/// With how this server tells users apart, and whom it lets confirm holds.
fn built(app: &App, name: &str) -> Option<String> {
    let file = Built::get(name)?;
    let mode = match app.settings.auth_mode {
        AuthMode::Header => "header",
        AuthMode::Jwt(_) => "jwt",
    };
    let confirms = if app.settings.confirm_by_service { " data-confirm=\"service\"" } else { "" };
    let identity = format!("data-identity=\"{mode} {}\"{confirms}", app.settings.user_header);
    Some(String::from_utf8_lossy(&file.data).replacen(IDENTITY, &identity, 1))
}

/// A person who looks for a page that does not exist is helped by a page; programs get the refusal.
pub fn missing(app: &App) -> Option<Reply> {
    Some(guarded(Reply::text(HTML, built(app, MISSING)?).not_found()))
}

/// A browser's address bar asks for HTML first. The API never answers with a page.
pub fn wants_page(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let html = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|kinds| {
        let first = kinds.split([',', ';']).next().unwrap_or_default();
        first.trim() == "text/html"
    });
    html && (method == Method::GET || method == Method::HEAD) && !path.starts_with("/api/") && !path.starts_with("/v1/")
}
