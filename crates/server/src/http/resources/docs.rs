//! The OpenAPI document, and Swagger UI to try it. The page loads nothing from other hosts.

use std::sync::{Arc, LazyLock};

use rules::outcome::Refusal;
use salvo::http::HeaderValue;
use salvo::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use salvo::hyper::body::Bytes;
use salvo_oapi::swagger_ui;

use crate::app::App;
use crate::http::openapi;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::{Dialect, Reply};

const PAGE: &str = include_str!("docs.html");
/// Swagger UI styles elements in place, and draws its icons from `data:`.
const NOTHING_FROM_ELSEWHERE: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// By the names of their files.
static DOCUMENTS: LazyLock<[(String, Bytes); 4]> = LazyLock::new(|| {
    Dialect::ALL.map(|dialect| {
        let text = format!("{}\n", openapi::document(dialect));
        (format!("{}.json", dialect.name()), text.into())
    })
});

pub async fn openapi(_: Arc<App>, _: Call) -> Handled {
    Ok(Reply::written(DOCUMENTS[0].1.clone()).public())
}

pub async fn openapi_of_dialect(_: Arc<App>, call: Call) -> Handled {
    let asked: String = call.request.id("file")?;
    let found = DOCUMENTS.iter().find(|(name, _)| *name == asked);
    let (_, document) = found.ok_or(Refusal::NotFound)?;
    Ok(Reply::written(document.clone()).public())
}

pub async fn page(_: Arc<App>, _: Call) -> Handled {
    let policy = HeaderValue::from_static(NOTHING_FROM_ELSEWHERE);
    Ok(Reply::text("text/html; charset=utf-8", PAGE).with(CONTENT_SECURITY_POLICY, policy))
}

/// Swagger UI's files, which all answers share.
static FILES: LazyLock<[(&str, &str, Option<Bytes>); 2]> = LazyLock::new(|| {
    [("swagger-ui.css", "text/css; charset=utf-8"), ("swagger-ui-bundle.js", "text/javascript; charset=utf-8")].map(
        |(name, kind)| {
            let found = swagger_ui::serve(name, "", "", "", &swagger_ui::Config::default());
            (name, kind, found.ok().flatten().map(|file| Bytes::from(file.bytes.into_owned())))
        },
    )
});

pub async fn file(_: Arc<App>, call: Call) -> Handled {
    let asked: String = call.request.id("file")?;
    let found = FILES.iter().find(|(name, ..)| *name == asked);
    let Some((_, kind, Some(bytes))) = found else { return Err(Refusal::NotFound.into()) };
    Ok(Reply::text(kind, bytes.clone()).with(CACHE_CONTROL, HeaderValue::from_static("max-age=3600")))
}
