//! One connection that stays open and carries one request after another.
//!
//! hyper splits a connection into a handle and a future that does the I/O. The task that waits for the
//! response polls both: no task per connection and no wake-up from one task to another. Dropping a
//! `Connection` closes it.

use std::future::{Future, poll_fn};
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::http::HeaderValue;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};

use crate::{ClientError, EventStream, HttpRequest, HttpResponse, Target};

/// No response of this server is larger.
const BODY_MOST: usize = 256 * 1024 * 1024;

pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// None when it has ended: it must not be polled again.
    pub(crate) driver: Option<http1::Connection<TokioIo<TcpStream>, Full<Bytes>>>,
    host: HeaderValue,
}

impl Connection {
    pub async fn open(target: &Target) -> Result<Connection, ClientError> {
        let stream = TcpStream::connect(target.address).await.map_err(ClientError::Connect)?;
        Connection::over(stream, target).await
    }

    /// Connects from this local address: on loopback a crowd can have many.
    pub async fn open_from(target: &Target, from: IpAddr) -> Result<Connection, ClientError> {
        let connected = async {
            let socket = if target.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.bind(SocketAddr::new(from, 0))?;
            socket.connect(target.address).await
        };
        Connection::over(connected.await.map_err(ClientError::Connect)?, target).await
    }

    async fn over(stream: TcpStream, target: &Target) -> Result<Connection, ClientError> {
        stream.set_nodelay(true).map_err(ClientError::Connect)?;
        // One copy of head and body costs less than a vectored write of small parts.
        let mut http = http1::Builder::new();
        // Header-Names as curl and browsers write them.
        http.writev(false).title_case_headers(true);
        let shaken = http.handshake(TokioIo::new(stream)).await;
        let (sender, driver) = shaken.map_err(ClientError::Broken)?;
        Ok(Connection { sender, driver: Some(driver), host: target.host().clone() })
    }

    /// Sends the request and reads the whole response. After an error the connection cannot be used again.
    pub async fn ask(&mut self, request: HttpRequest) -> Result<HttpResponse, ClientError> {
        let request = request.finish(&self.host)?;
        let (sender, driver) = (&mut self.sender, &mut self.driver);
        let mut exchange = pin!(exchange(sender, request));
        poll_fn(|cx| {
            // Each provides what the other waits for: the request goes out; later the head comes in, the
            // exchange asks for the body, the body comes in. If more is left after two turns, it wakes this
            // task.
            for _ in 0..2 {
                if let Poll::Ready(done) = exchange.as_mut().poll(cx) {
                    return Poll::Ready(done);
                }
                drive(driver, cx);
            }
            exchange.as_mut().poll(cx)
        })
        .await
    }

    /// Asks for a stream, which has no end of its own, and reads its head.
    pub async fn stream(mut self, request: HttpRequest) -> Result<EventStream, ClientError> {
        let request = request.finish(&self.host)?;
        let (head, body) = {
            let (sender, driver) = (&mut self.sender, &mut self.driver);
            let mut exchange = pin!(async {
                sender.ready().await?;
                sender.send_request(request).await
            });
            let answered = poll_fn(|cx| {
                for _ in 0..2 {
                    if let Poll::Ready(done) = exchange.as_mut().poll(cx) {
                        return Poll::Ready(done);
                    }
                    drive(driver, cx);
                }
                exchange.as_mut().poll(cx)
            });
            answered.await.map_err(ClientError::Broken)?.into_parts()
        };
        let head = HttpResponse { status: head.status.as_u16(), headers: head.headers, body: Bytes::new() };
        Ok(EventStream::new(head, self, body))
    }

    /// Whether it can carry a request. Notices if the server has closed it in the meantime.
    pub fn is_open(&mut self) -> bool {
        drive(&mut self.driver, &mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && !self.sender.is_closed()
    }
}

/// Lets hyper read and write as far as it can. If the connection ends, the exchange gets the reason.
pub(crate) fn drive(driver: &mut Option<http1::Connection<TokioIo<TcpStream>, Full<Bytes>>>, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && Pin::new(running).poll(cx).is_ready()
    {
        *driver = None;
    }
}

async fn exchange(
    sender: &mut SendRequest<Full<Bytes>>,
    request: hyper::Request<Full<Bytes>>,
) -> Result<HttpResponse, ClientError> {
    sender.ready().await.map_err(ClientError::Broken)?;
    let (head, body) = sender.send_request(request).await.map_err(ClientError::Broken)?.into_parts();
    let mut response = HttpResponse { status: head.status.as_u16(), headers: head.headers, body: Bytes::new() };
    if response.is_stream() {
        response.body = first_message(body).await.map_err(ClientError::Broken)?;
        return Ok(response);
    }
    let body = Limited::new(body, BODY_MOST).collect().await;
    let body = body.map_err(|why| match why.downcast::<hyper::Error>() {
        Ok(why) => ClientError::Broken(*why),
        Err(_) => ClientError::TooLarge,
    })?;
    response.body = body.to_bytes();
    Ok(response)
}

/// A stream has no end: its answer is its first message.
async fn first_message(mut body: Incoming) -> Result<Bytes, hyper::Error> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        read.extend_from_slice(&frame?.into_data().unwrap_or_default());
        let text = String::from_utf8_lossy(&read);
        if text.contains("data: ") && text.ends_with("\n\n") {
            break;
        }
    }
    Ok(read.into())
}
