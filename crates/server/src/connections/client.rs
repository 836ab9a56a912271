//! The client's end of a connection, so that a lane can check for a disconnect before it starts the request.

use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use rustix::net::{SendFlags, send};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

tokio::task_local! {
    /// The client whose request this task serves.
    static CLIENT: ClientSocket;
}

/// The client of the request that is being handled, if it came over a connection.
pub fn current_client() -> Option<ClientSocket> {
    CLIENT.try_with(Clone::clone).ok()
}

/// Completes when the client has closed its side. None: it never does.
pub async fn client_left(client: Option<&ClientSocket>) {
    match client {
        Some(client) => client.left().await,
        None => std::future::pending().await,
    }
}

#[derive(Clone)]
pub struct ClientSocket(Arc<ClientEnd>);

struct ClientEnd {
    stream: TcpStream,
    /// Called when hyper has written everything that it has.
    after_flush: Mutex<Option<AfterFlush>>,
    /// Whether a callback is set. Without one, a flush costs only this load.
    called: AtomicBool,
}

type AfterFlush = Box<dyn FnOnce() + Send>;

impl ClientSocket {
    pub fn new(stream: TcpStream) -> ClientSocket {
        ClientSocket(Arc::new(ClientEnd { stream, after_flush: Mutex::default(), called: AtomicBool::new(false) }))
    }

    /// Runs a connection's future as this client's.
    pub async fn serving<T>(self, connection: impl Future<Output = T>) -> T {
        CLIENT.scope(self, connection).await
    }

    /// Whether the client has closed its side. A client that only half-closed still gets an answer, but under load it
    /// is told to retry. Costs a system call only if the client has sent something.
    pub fn has_left(&self) -> bool {
        let peek = || SockRef::from(&self.0.stream).peek(&mut [MaybeUninit::uninit()]);
        match self.0.stream.try_io(Interest::READABLE, peek) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

impl ClientSocket {
    /// Completes when the client has closed its side. For responses without an end: hyper does not read while it
    /// responds, so it would notice only at its next write.
    pub async fn left(&self) {
        let peek = || SockRef::from(&self.0.stream).peek(&mut [MaybeUninit::uninit()]);
        while self.0.stream.readable().await.is_ok() {
            match self.0.stream.try_io(Interest::READABLE, peek) {
                // It keeps sending, so it is still connected.
                Ok(bytes) if bytes > 0 => std::future::pending().await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Limits the kernel's send buffer for a client that does not read.
    pub fn keep_little(&self, bytes: usize) {
        let _ = SockRef::from(&self.0.stream).set_send_buffer_size(bytes);
    }

    /// Peeks at what has been received. 0 bytes: the client has closed its side.
    pub fn poll_peek(&self, context: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.stream.poll_peek(context, &mut ReadBuf::new(into))
    }

    /// Calls `then` once hyper has nothing left to write. From then on another task may write to this socket, as long
    /// as hyper's body yields nothing.
    pub fn after_flush(&self, then: impl FnOnce() + Send + 'static) {
        *self.0.after_flush.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Box::new(then));
        self.0.called.store(true, Ordering::Release);
    }

    fn flushed(&self) {
        if self.0.called.load(Ordering::Acquire) && self.0.called.swap(false, Ordering::AcqRel) {
            let then = self.0.after_flush.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
            if let Some(then) = then {
                then();
            }
        }
    }

    /// Writes without checking the runtime's readiness state, which costs as much as a cache miss. For clients that
    /// took the last write whole.
    pub fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.0.stream, bytes, SendFlags::NOSIGNAL)?)
    }

    /// Closes the write side.
    pub fn end(&self) -> io::Result<()> {
        match SockRef::from(&self.0.stream).shutdown(Shutdown::Write) {
            // The client has already disconnected.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            ended => ended,
        }
    }

    /// Makes no system call while the runtime knows that the socket is not writable.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.stream.try_write(bytes)
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.stream.poll_read_ready(context))?;
            match self.0.stream.try_read_buf(into) {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl ClientSocket {
    fn poll_written(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(context))?;
            match write(&self.0.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_written(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_written(context, |stream| stream.try_write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.end())
    }
}
