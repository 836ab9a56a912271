//! A whole response.

use hyper::HeaderMap;
use hyper::body::Bytes;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The whole body, without chunked framing.
    pub body: Bytes,
}

impl HttpResponse {
    /// The first header of this name, in any case. None also if its value is not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Server-Sent Events: only the first message is in the body.
    pub fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The connection cannot carry another request after this response.
    pub fn closes(&self) -> bool {
        if self.is_stream() {
            return true;
        }
        let values = self.headers.get_all("connection").iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|option| option.trim().eq_ignore_ascii_case("close"))
    }
}
