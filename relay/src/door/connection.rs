//! An accepted connection, with TLS or without.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::Accept;
use tokio_rustls::server::TlsStream;

use super::stream::Guarded;
use crate::tls::Acceptor;

/// The bytes that TLS may hold for a receiver that takes none.
const BUFFER: usize = 16 * 1_024;

/// An accepted connection. The handshake of TLS takes place in its first read, so that the listener waits for none.
pub(crate) enum Connection {
    /// Without TLS.
    Plain(Guarded),
    /// In the handshake.
    Shaking(Box<Accept<Guarded>>),
    /// Behind the handshake.
    Secure(Box<TlsStream<Guarded>>),
}

impl Connection {
    pub(super) fn new(stream: Guarded, tls: Option<&Acceptor>) -> Self {
        match tls {
            Some(tls) => Self::Shaking(Box::new(tls.accept(stream))),
            None => Self::Plain(stream),
        }
    }

    /// Calls the stream, once the handshake is over.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        call: impl FnOnce(Pin<&mut dyn Stream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Self::Shaking(accept) = self {
            let mut stream = ready!(Pin::new(&mut **accept).poll(cx))?;
            let (guarded, session) = stream.get_mut();
            guarded.greeted();
            // The relay's own queues bound what waits for a slow receiver.
            session.set_buffer_limit(Some(BUFFER));
            *self = Self::Secure(Box::new(stream));
        }
        match self {
            Self::Plain(stream) => call(Pin::new(stream), cx),
            Self::Secure(stream) => call(Pin::new(&mut **stream), cx),
            Self::Shaking(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

/// Either stream.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(cx, |stream, cx| stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, |stream, cx| stream.poll_write_vectored(cx, buffers))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Shaking(_) => false,
            Self::Secure(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(cx, |stream, cx| stream.poll_shutdown(cx))
    }
}
