//! One exchange with somewhere else: a document such as the keys of an identity provider, or a report to a collector.
//! Over `https://`, or over `http://` where the caller allows the address. Bounded in size and time, without redirects.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::Method;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Position, Url};

#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    pub bytes: usize,
    /// From the lookup of the name to the last byte.
    pub time: Duration,
}

/// Why there is no document, in words for a log.
#[derive(Debug)]
pub struct FetchError(String);

impl FetchError {
    pub(crate) fn new(why: String) -> FetchError {
        FetchError(why)
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FetchError {}

/// Any answer.
#[derive(Debug)]
pub struct Fetched {
    pub status: u16,
    /// In seconds.
    pub retry_after: Option<u64>,
    pub body: Bytes,
}

/// What is sent, beside what every request has.
struct Exchange<'a> {
    method: Method,
    headers: &'a [(String, String)],
    /// JSON.
    body: Bytes,
    most: usize,
}

/// The body of a 200 answer. Certificates are verified with the system's authorities (`SSL_CERT_FILE`).
pub async fn fetch(url: &Url, limits: FetchLimits) -> Result<Bytes, FetchError> {
    let get = Exchange { method: Method::GET, headers: &[], body: Bytes::new(), most: limits.bytes };
    let fetched = in_time(limits.time, exchange(url, get)).await?;
    if fetched.status == 200 { Ok(fetched.body) } else { Err(FetchError(format!("it answered {}", fetched.status))) }
}

/// Sends JSON and returns the answer, whatever its status.
pub async fn post(
    url: &Url,
    headers: &[(String, String)],
    body: Bytes,
    limits: FetchLimits,
) -> Result<Fetched, FetchError> {
    in_time(limits.time, exchange(url, Exchange { method: Method::POST, headers, body, most: limits.bytes })).await
}

async fn in_time<T>(time: Duration, work: impl Future<Output = Result<T, FetchError>>) -> Result<T, FetchError> {
    let done = tokio::time::timeout(time, work).await;
    done.unwrap_or_else(|_| Err(FetchError(format!("no answer within {} s", time.as_secs_f64()))))
}

async fn exchange(url: &Url, what: Exchange<'_>) -> Result<Fetched, FetchError> {
    let failed = |why: &dyn fmt::Display| FetchError(why.to_string());
    let (host, port) = match (url.host(), url.port_or_known_default()) {
        (Some(host), Some(port)) => (host, port),
        _ => return Err(FetchError("expected https://host/path".into())),
    };
    let connected = match &host {
        Host::Domain(name) => TcpStream::connect((*name, port)).await,
        Host::Ipv4(ip) => TcpStream::connect((*ip, port)).await,
        Host::Ipv6(ip) => TcpStream::connect((*ip, port)).await,
    };
    let stream = connected.map_err(|e| failed(&e))?;
    if url.scheme() == "http" {
        return ask(stream, url, what).await;
    }
    let name = match host {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).map_err(|e| failed(&e))?,
        Host::Ipv4(ip) => ServerName::IpAddress(std::net::IpAddr::V4(ip).into()),
        Host::Ipv6(ip) => ServerName::IpAddress(std::net::IpAddr::V6(ip).into()),
    };
    let stream = TlsConnector::from(tls()?).connect(name, stream).await.map_err(|e| failed(&e))?;
    ask(stream, url, what).await
}

async fn ask<S>(stream: S, url: &Url, what: Exchange<'_>) -> Result<Fetched, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |why: &dyn fmt::Display| FetchError(why.to_string());
    let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
    let _driver = Ending(tokio::spawn(async move {
        let _ = driver.await;
    }));
    let mut request = hyper::Request::builder()
        .method(what.method.clone())
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "tickettock");
    if what.method != Method::GET {
        request = request.header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, what.body.len());
    }
    for (name, value) in what.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(what.body)).map_err(|e| failed(&e))?;
    let answer = sender.send_request(request).await.map_err(|e| failed(&e))?;
    let status = answer.status().as_u16();
    let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let body = Limited::new(answer.into_body(), what.most).collect().await.map_err(|e| failed(&e))?;
    Ok(Fetched { status, retry_after, body: body.to_bytes() })
}

/// Ends with the request, also if that is given up.
pub(crate) struct Ending(pub(crate) tokio::task::JoinHandle<()>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The authorities are read once.
pub(crate) fn tls() -> Result<Arc<ClientConfig>, FetchError> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(FetchError("this machine has no certificates of authorities to verify with".into()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| FetchError(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(CONFIG.get_or_init(|| Arc::new(config)).clone())
}
