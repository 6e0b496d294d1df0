//! A connection that is cut when it keeps the relay waiting.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::Caller;
use crate::metrics::Turned;
use crate::refusals::Refusals;

/// The most bytes that a client may send before an answer, in one request or in several at once. Clients upload
/// nothing here, and this bounds a request's memory.
const REQUEST_MAX: usize = 16 * 1_024;

/// A stream that fails after a time without a write: then its other end does not finish its request, or does not take
/// the answer. It also fails when the other end sends too much. A WebSocket is exempt.
#[derive(Debug)]
pub(crate) struct Guarded {
    stream: TcpStream,
    caller: Caller,
    patience: Duration,
    over: Pin<Box<Sleep>>,
    /// Whether the client has had an answer. A connection that is cut after an answer was only kept open, so the cut
    /// counts as no refusal.
    is_answered: bool,
    /// Bytes read since the last write.
    unanswered: usize,
    refusals: Arc<Refusals>,
}

impl Guarded {
    pub(super) fn new(
        stream: TcpStream,
        caller: Caller,
        patience: Duration,
        refusals: Arc<Refusals>,
    ) -> Self {
        Self {
            stream,
            caller,
            patience,
            over: Box::pin(sleep(patience)),
            is_answered: false,
            unanswered: 0,
            refusals,
        }
    }

    /// Returns an error when the time is over.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.is_upgraded() || self.over.as_mut().poll(cx).is_pending() {
            return Ok(());
        }
        if !self.is_answered {
            self.is_answered = true;
            self.refusals.note(Turned::Handshake);
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Counts another `bytes` bytes of a request. Returns an error when they are too much.
    fn read(&mut self, bytes: usize) -> io::Result<()> {
        self.unanswered = self.unanswered.saturating_add(bytes);
        if self.unanswered <= REQUEST_MAX || self.is_upgraded() {
            return Ok(());
        }
        self.is_answered = true;
        self.refusals.note(Turned::RequestSize);
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Notes the end of the handshake of TLS, whose bytes are neither a request nor an answer.
    pub(super) fn greeted(&mut self) {
        (self.is_answered, self.unanswered) = (false, 0);
    }

    fn is_upgraded(&self) -> bool {
        self.caller.0.is_upgraded.load(Ordering::Relaxed)
    }

    fn wrote(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.is_answered = true;
            self.unanswered = 0;
            if !self.is_upgraded() {
                self.over.as_mut().reset(Instant::now() + self.patience);
            }
        }
        written
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        Poll::Ready(self.read(buffer.filled().len() - before))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
