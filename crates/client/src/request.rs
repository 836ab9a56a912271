//! A request, independent of the connection that will carry it.

use hyper::body::Bytes;
use hyper::http::request::Builder;
use hyper::http::{HeaderValue, header};

use crate::ClientError;

/// A header or a path that HTTP does not allow is reported when the request is sent.
#[derive(Debug)]
pub struct HttpRequest {
    head: Builder,
    body: Bytes,
}

impl HttpRequest {
    /// `path` with its query, such as `/api/v1/events?limit=10`.
    pub fn new(method: &str, path: &str) -> HttpRequest {
        HttpRequest { head: hyper::Request::builder().method(method).uri(path), body: Bytes::new() }
    }

    pub fn get(path: &str) -> HttpRequest {
        HttpRequest::new("GET", path)
    }

    pub fn post(path: &str) -> HttpRequest {
        HttpRequest::new("POST", path)
    }

    /// One more header; the same name may come twice. A value may hold other bytes than ASCII.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> HttpRequest {
        self.head = self.head.header(name, value.as_ref());
        self
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> HttpRequest {
        self.body = body.into();
        self
    }

    /// A JSON body with its type; an empty text is no body.
    pub fn json(self, body: impl Into<Bytes>) -> HttpRequest {
        let body = body.into();
        if body.is_empty() { self } else { self.header("Content-Type", "application/json").body(body) }
    }

    /// With `Host` and, unless the caller gave one, `Content-Length`.
    pub(crate) fn finish(self, host: &HeaderValue) -> Result<hyper::Request<http_body_util::Full<Bytes>>, ClientError> {
        let length = self.body.len();
        let mut request = self.head.body(http_body_util::Full::new(self.body)).map_err(ClientError::Request)?;
        let bodiless = length == 0 && matches!(request.method().as_str(), "GET" | "HEAD");
        let headers = request.headers_mut();
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, host.clone());
        }
        if !bodiless && !headers.contains_key(header::CONTENT_LENGTH) {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        Ok(request)
    }
}
