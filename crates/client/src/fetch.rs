//! One document from somewhere else, such as the keys of an identity provider: over `https://`, or over
//! `http://` where the caller allows the address. Bounded in size and time, without redirects.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST, USER_AGENT};
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

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FetchError {}

/// The body of a 200 answer. Certificates are verified with the system's authorities (`SSL_CERT_FILE`).
pub async fn fetch(url: &Url, limits: FetchLimits) -> Result<Bytes, FetchError> {
    let fetched = tokio::time::timeout(limits.time, get(url, limits.bytes)).await;
    fetched.unwrap_or_else(|_| Err(FetchError(format!("no answer within {} s", limits.time.as_secs_f64()))))
}

async fn get(url: &Url, most: usize) -> Result<Bytes, FetchError> {
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
        return ask(stream, url, most).await;
    }
    let name = match host {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).map_err(|e| failed(&e))?,
        Host::Ipv4(ip) => ServerName::IpAddress(std::net::IpAddr::V4(ip).into()),
        Host::Ipv6(ip) => ServerName::IpAddress(std::net::IpAddr::V6(ip).into()),
    };
    let stream = TlsConnector::from(tls()?).connect(name, stream).await.map_err(|e| failed(&e))?;
    ask(stream, url, most).await
}

async fn ask<S>(stream: S, url: &Url, most: usize) -> Result<Bytes, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |why: &dyn fmt::Display| FetchError(why.to_string());
    let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
    let _driver = Ending(tokio::spawn(async move {
        let _ = driver.await;
    }));
    let request = hyper::Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "tickettock")
        .body(Empty::<Bytes>::new())
        .map_err(|e| failed(&e))?;
    let answer = sender.send_request(request).await.map_err(|e| failed(&e))?;
    if answer.status() != hyper::StatusCode::OK {
        return Err(FetchError(format!("it answered {}", answer.status().as_u16())));
    }
    let body = Limited::new(answer.into_body(), most).collect().await.map_err(|e| failed(&e))?;
    Ok(body.to_bytes())
}

/// Ends with the request, also if that is given up.
struct Ending(tokio::task::JoinHandle<()>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The authorities are read once.
fn tls() -> Result<Arc<ClientConfig>, FetchError> {
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
