//! Why there is no response.

use std::fmt;
use std::time::Duration;

#[derive(Debug)]
pub enum ClientError {
    /// No connection was made: the request was not sent.
    Connect(std::io::Error),
    /// The request cannot be written as HTTP, so it was not sent.
    Request(hyper::http::Error),
    /// The connection broke. The server may have carried out the request.
    Broken(hyper::Error),
    /// No response in this time. The server may have carried out the request.
    Timeout(Duration),
    /// The response is larger than this client reads.
    TooLarge,
}

impl ClientError {
    /// Something answered, but not with HTTP.
    pub fn is_not_http(&self) -> bool {
        matches!(self, ClientError::Broken(why) if why.is_parse())
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Connect(why) => why.fmt(f),
            ClientError::Request(why) => write!(f, "not a valid request: {why}"),
            // hyper says what it was doing; its source says what happened.
            ClientError::Broken(why) => match std::error::Error::source(why) {
                Some(source) => write!(f, "{why}: {source}"),
                None => why.fmt(f),
            },
            ClientError::Timeout(time) => write!(f, "no response within {} s", time.as_secs_f64()),
            ClientError::TooLarge => f.write_str("the response is too large"),
        }
    }
}

impl std::error::Error for ClientError {}
