//! A client that manages its connection for the caller.

use std::time::Duration;

use tokio::time::timeout;

use crate::{ClientError, Connection, HttpRequest, HttpResponse, Target};

/// Keeps its connection open between requests, and opens a new one when the server closed it.
pub struct Client {
    target: Target,
    time: Option<Duration>,
    kept: Option<Connection>,
}

impl Client {
    pub fn new(target: impl Into<Target>) -> Client {
        Client { target: target.into(), time: None, kept: None }
    }

    /// Limits the time of each request, connecting included.
    pub fn with_timeout(self, time: Duration) -> Client {
        Client { time: Some(time), ..self }
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    pub async fn ask(&mut self, request: HttpRequest) -> Result<HttpResponse, ClientError> {
        // Taken out, so that an error or a dropped future leaves no connection with half a response.
        let kept = self.kept.take().and_then(|mut kept| kept.is_open().then_some(kept));
        let target = &self.target;
        let asking = async move {
            let mut connection = match kept {
                Some(kept) => kept,
                None => Connection::open(target).await?,
            };
            let response = connection.ask(request).await?;
            Ok((response, connection))
        };
        let (response, connection) = match self.time {
            Some(time) => timeout(time, asking).await.unwrap_or(Err(ClientError::Timeout(time))),
            None => asking.await,
        }?;
        if !response.closes() {
            self.kept = Some(connection);
        }
        Ok(response)
    }
}

/// One request over a connection of its own, which is closed afterwards.
pub async fn ask_once(target: &Target, request: HttpRequest, time: Duration) -> Result<HttpResponse, ClientError> {
    let asking = async {
        let mut connection = Connection::open(target).await?;
        connection.ask(request.header("Connection", "close")).await
    };
    timeout(time, asking).await.unwrap_or(Err(ClientError::Timeout(time)))
}
