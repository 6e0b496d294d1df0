//! The relay's socket against a WebSocket server that the test plays itself.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use samovar_peer_native::Trust;
use samovar_peer_native::relay_socket::{OpenError, RelayEvent, RelaySocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
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
    let socket = RelaySocket::open(url, Trust::default(), 3, sender);
    let (stream, _) = listener.accept().await.expect("the socket connects");
    let server = accept_async(stream).await.expect("the socket speaks WebSocket");
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Opened)));
    (socket, events, server)
}

/// Opens a socket that must not open, and returns the reason.
async fn why_not(url: String, trust: Trust) -> OpenError {
    let (sender, mut events) = channel(8);
    let _socket = RelaySocket::open(url, trust, 1, sender);
    match next(&mut events).await {
        Some((1, RelayEvent::Closed(Some(error)))) => error,
        other => panic!("{other:?}"),
    }
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
async fn the_socket_sends_its_queue_before_it_closes() {
    let (socket, mut events, mut server) = open().await;
    for number in 0..100u8 {
        socket.send(vec![number; 100]).unwrap();
    }
    drop(socket);
    for number in 0..100u8 {
        assert_eq!(server.next().await.unwrap().unwrap(), Message::binary(vec![number; 100]));
    }
    assert!(matches!(server.next().await, Some(Ok(Message::Close(_)))));
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Closed(None))));
    assert_eq!(next(&mut events).await, None, "closed is said once, and last");
}

#[tokio::test]
async fn an_absent_or_lost_relay_is_reported_closed() {
    let (listener, url) = listener().await;
    drop(listener);
    let error = why_not(url, Trust::default()).await;
    assert!(error.to_string().contains("does the relay run") && !error.is_final(), "{error}");

    let (_socket, mut events, server) = open().await;
    drop(server);
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Closed(None))));
}

#[tokio::test]
async fn an_oversized_message_closes_the_socket() {
    let (_socket, mut events, mut server) = open().await;
    server.send(Message::binary(vec![0; 100_000])).await.unwrap();
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Closed(None))));
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

/// Makes a certificate for this machine and writes it to a PEM file in `directory`. Returns a listener, the TLS
/// acceptor that shows the certificate, a trust in it, and the URL.
async fn tls_listener(directory: &std::path::Path) -> (TcpListener, TlsAcceptor, Trust, String) {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let file = directory.join("root.pem");
    std::fs::write(&file, own.cert.pem()).expect("writes");
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key))
        .expect("a server's side of TLS");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("wss://{}/ws", listener.local_addr().expect("a bound socket has an address"));
    (listener, TlsAcceptor::from(Arc::new(config)), Trust::with_file(&file).expect("a certificate"), url)
}

#[tokio::test]
async fn a_peer_reaches_a_tls_relay_whose_authority_it_trusts() {
    let directory = std::env::temp_dir().join(format!("samovar-trust-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a scratch directory");
    let (listener, acceptor, trust, url) = tls_listener(&directory).await;
    let (sender, mut events) = channel(8);
    let socket = RelaySocket::open(url.clone(), trust, 3, sender);
    let (stream, _) = listener.accept().await.expect("the socket connects");
    let stream = acceptor.accept(stream).await.expect("the socket speaks TLS");
    let mut server = accept_async(stream).await.expect("and WebSocket within");
    assert_eq!(next(&mut events).await, Some((3, RelayEvent::Opened)));
    socket.send(b"up".to_vec()).unwrap();
    assert_eq!(server.next().await.unwrap().unwrap(), Message::binary(&b"up"[..]));

    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("another connects");
        acceptor.accept(stream).await.is_err()
    });
    let error = why_not(url, Trust::default()).await;
    assert!(error.is_final() && error.to_string().contains("--ca"), "{error}");
    assert!(served.await.expect("no panic"), "it hangs up");

    let nothing = directory.join("nothing.pem");
    std::fs::write(&nothing, "no certificate").expect("writes");
    for (path, why) in [(nothing, "there is none in it"), (directory.join("missing.pem"), "No such file")] {
        let error = Trust::with_file(&path).expect_err("no authority").to_string();
        assert!(error.contains(why) && error.contains("PEM"), "{error}");
    }
    std::fs::remove_dir_all(&directory).ok();
}

#[tokio::test]
async fn a_server_without_tls_is_reported() {
    let (listener, url) = listener().await;
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("it connects");
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.expect("answers");
        // Waits until the other end closes the connection, so that it has read the answer.
        stream.read_to_end(&mut Vec::new()).await.ok();
    });
    let error = why_not(url.replace("ws:", "wss:"), Trust::default()).await;
    assert!(error.is_final() && error.to_string().contains("speaks no TLS"), "{error}");
    served.await.expect("no panic");
    let error = why_not("ftp://127.0.0.1/ws".to_owned(), Trust::default()).await;
    assert!(error.is_final() && error.to_string().contains("no address of a relay"), "{error}");
}
