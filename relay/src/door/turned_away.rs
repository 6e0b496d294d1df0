//! The answer to a connection that is refused at the door, before the server has it.
//!
//! The request is read first, as far as it arrives at once: closing a connection with unread bytes resets it, and its
//! other end may miss the answer.

use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Bytes of a request that are read at most.
const REQUEST_MAX: usize = 4 * 1_024;
/// The request that asks whether the process lives.
const HEALTH: &[u8] = b"GET /healthz ";

/// Answers a connection with a status and a text, and closes it, all within `within`. A health request is told that the
/// process lives, if `is_healthy`.
pub(super) async fn answer(
    mut stream: TcpStream,
    (status, text): (StatusCode, String),
    is_healthy: bool,
    within: Duration,
) {
    let said = async {
        let request = read_head(&mut stream, within / 2).await;
        let lives = is_healthy && request.starts_with(HEALTH);
        let (status, text) = if lives { (StatusCode::OK, "ok\n") } else { (status, text.as_str()) };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
             access-control-allow-origin: *\r\nconnection: close\r\n\r\n{text}",
            text.len()
        );
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // Waits until the other end has read the answer and closes, too.
        let mut rest = [0; 512];
        while stream.read(&mut rest).await? > 0 {}
        std::io::Result::Ok(())
    };
    drop(timeout(within, said).await);
}

/// Reads a request's head, or the part of it that arrives within this time.
async fn read_head(stream: &mut TcpStream, within: Duration) -> Vec<u8> {
    let mut head = Vec::with_capacity(REQUEST_MAX);
    let is_whole = |head: &[u8]| head.windows(4).any(|end| end == b"\r\n\r\n");
    let read = async {
        while head.len() < REQUEST_MAX && !is_whole(&head) {
            let mut piece = [0; 1_024];
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(length) => head.extend_from_slice(&piece[..length]),
            }
        }
    };
    // A slow client gets the answer as well.
    drop(timeout(within, read).await);
    head
}
