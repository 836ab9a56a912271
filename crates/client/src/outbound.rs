//! A connection to somebody else's server, for requests that this side begins: over `https://`, or over `http://` where
//! the caller allows it. The caller decides about every address after the lookup, and the connection goes to that very
//! address: a name that resolves differently the next time leads nowhere else. No redirects are followed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Position, Url};

use crate::fetch::{Ending, FetchError, tls};

/// What is read of an answer. Its content means nothing here; read to its end, the connection can be used again.
const ANSWER_MOST: usize = 64 * 1024;

pub struct Outbound {
    sender: SendRequest<Full<Bytes>>,
    _driver: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboundAnswer {
    pub status: u16,
    /// Seconds to wait, if it says so.
    pub retry_after: Option<u64>,
    /// The connection cannot carry another request.
    pub closes: bool,
}

impl Outbound {
    /// Connects to the first address of the name that `allowed` accepts.
    pub async fn connect(url: &Url, allowed: impl Fn(IpAddr) -> bool) -> Result<Outbound, FetchError> {
        let failed = |why: &dyn fmt::Display| FetchError::new(why.to_string());
        let (host, port) = match (url.host(), url.port_or_known_default()) {
            (Some(host), Some(port)) => (host, port),
            _ => return Err(FetchError::new("expected https://host/path".into())),
        };
        let found: Vec<SocketAddr> = match &host {
            Host::Domain(name) => tokio::net::lookup_host((*name, port)).await.map_err(|e| failed(&e))?.collect(),
            Host::Ipv4(ip) => vec![SocketAddr::from((*ip, port))],
            Host::Ipv6(ip) => vec![SocketAddr::from((*ip, port))],
        };
        let all = found.len();
        let found: Vec<SocketAddr> = found.into_iter().filter(|address| allowed(address.ip())).collect();
        if found.is_empty() && all > 0 {
            return Err(FetchError::new("the address is private, and WEBHOOK_PRIVATE is not set".into()));
        }
        let mut last = FetchError::new("no such host".into());
        for address in found {
            match TcpStream::connect(address).await {
                Ok(stream) => return Outbound::over(stream, url).await,
                Err(error) => last = failed(&error),
            }
        }
        Err(last)
    }

    async fn over(stream: TcpStream, url: &Url) -> Result<Outbound, FetchError> {
        let failed = |why: &dyn fmt::Display| FetchError::new(why.to_string());
        stream.set_nodelay(true).map_err(|e| failed(&e))?;
        if url.scheme() == "http" {
            return Outbound::shake(stream).await;
        }
        let name = match url.host() {
            Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).map_err(|e| failed(&e))?,
            Some(Host::Ipv4(ip)) => ServerName::IpAddress(IpAddr::V4(ip).into()),
            Some(Host::Ipv6(ip)) => ServerName::IpAddress(IpAddr::V6(ip).into()),
            None => return Err(FetchError::new("expected https://host/path".into())),
        };
        let stream = TlsConnector::from(tls()?).connect(name, stream).await.map_err(|e| failed(&e))?;
        Outbound::shake(stream).await
    }

    async fn shake<S>(stream: S) -> Result<Outbound, FetchError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, driver) = shaken.map_err(|e| FetchError::new(e.to_string()))?;
        let driver = Ending(tokio::spawn(async move {
            let _ = driver.await;
        }));
        Ok(Outbound { sender, _driver: driver })
    }

    pub fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Posts JSON, with these headers beside the usual ones.
    pub async fn post(
        &mut self,
        url: &Url,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<OutboundAnswer, FetchError> {
        let failed = |why: &dyn fmt::Display| FetchError::new(why.to_string());
        let mut request = hyper::Request::post(&url[Position::BeforePath..Position::AfterQuery])
            .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, "tickettock");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(body)).map_err(|e| failed(&e))?;
        self.sender.ready().await.map_err(|e| failed(&e))?;
        let answer = self.sender.send_request(request).await.map_err(|e| failed(&e))?;
        let status = answer.status().as_u16();
        let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        // Whatever the body is, the status says whether it was taken.
        let whole = Limited::new(answer.into_body(), ANSWER_MOST).collect().await.is_ok();
        Ok(OutboundAnswer { status, retry_after: seconds, closes: !whole || self.sender.is_closed() })
    }
}
