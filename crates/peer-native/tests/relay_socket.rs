//! The relay's socket against a WebSocket server that the test plays itself.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use samovar_peer_native::relay_socket::{RelayEvent, RelaySocket};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

const PATIENCE: Duration = Duration::from_secs(10);

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("ws://{}/ws", listener.local_addr().expect("a bound socket has an address"));
    (listener, url)
}

async fn open() -> (RelaySocket, Receiver<(u32, RelayEvent)>, WebSocketStream<TcpStream>) {
    let (listener, url) = listener().await;
    let (sender, mut events) = channel(8);
    let socket = RelaySocket::open(url, 3, sender);
    let (stream, _) = listener.accept().await.expect("the socket connects");
    let server = accept_async(stream).await.expect("the socket speaks WebSocket");
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Opened)));
    (socket, events, server)
}

async fn next(events: &mut Receiver<(u32, RelayEvent)>) -> Option<(u32, RelayEvent)> {
    timeout(PATIENCE, events.recv()).await.expect("an event in time")
}

#[tokio::test]
async fn binary_messages_pass_both_ways_and_others_are_ignored() {
    let (socket, mut events, mut server) = open().await;
    socket.send(b"up".to_vec()).unwrap();
    assert_eq!(server.next().await.unwrap().unwrap(), Message::binary(&b"up"[..]));
    server.send(Message::text("what?")).await.unwrap();
    server.send(Message::Ping("still there?".into())).await.unwrap();
    server.send(Message::binary(&b"down"[..])).await.unwrap();
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Message("down".into()))));
    assert_eq!(server.next().await.unwrap().unwrap(), Message::Pong("still there?".into()));
}

#[tokio::test]
async fn what_was_queued_is_sent_before_the_socket_closes() {
    let (socket, mut events, mut server) = open().await;
    for number in 0..100u8 {
        socket.send(vec![number; 100]).unwrap();
    }
    drop(socket);
    for number in 0..100u8 {
        assert_eq!(server.next().await.unwrap().unwrap(), Message::binary(vec![number; 100]));
    }
    assert!(matches!(server.next().await, Some(Ok(Message::Close(_)))));
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Closed)));
    assert_eq!(next(&mut events).await, None, "closed is said once, and last");
}

#[tokio::test]
async fn a_relay_that_is_not_there_or_goes_is_reported_closed() {
    let (listener, url) = listener().await;
    drop(listener);
    let (sender, mut events) = channel(8);
    let _socket = RelaySocket::open(url, 1, sender);
    assert_eq!(next(&mut events).await, Some((1, RelayEvent::Closed)));

    let (_socket, mut events, server) = open().await;
    drop(server);
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Closed)));
}

#[tokio::test]
async fn an_oversized_message_closes() {
    let (_socket, mut events, mut server) = open().await;
    server.send(Message::binary(vec![0; 100_000])).await.unwrap();
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Closed)));
}

#[tokio::test]
async fn a_relay_that_does_not_read_overflows_the_queue() {
    let (socket, _events, server) = open().await;
    let mut overflowed = false;
    for _ in 0..2_000 {
        overflowed = socket.send(vec![0; 16_384]).is_err();
        if overflowed {
            break;
        }
        sleep(Duration::from_micros(100)).await;
    }
    assert!(overflowed, "32 MB were queued for a relay that does not read");
    drop(server);
}
