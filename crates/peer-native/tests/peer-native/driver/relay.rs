//! A relay for these tests: the real directory behind the simplest sockets. It writes nothing to disk.

use std::collections::BTreeMap;

use futures_util::{SinkExt as _, StreamExt as _};
use samovar_directory::{ConnId, Directory, DirectoryConfig, Output, Request};
use samovar_wire::Time;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Duration, Instant, sleep};
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// A running relay; dropping it kills it and all its connections.
pub(crate) struct Relay {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("ws://{}/ws", listener.local_addr().expect("a bound socket has an address"));
        Self { url, task: tokio::spawn(serve(listener)) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A report of a connection: it opened, it received a message, or it ended.
enum Heard {
    Opened(UnboundedSender<Vec<u8>>),
    Message(Vec<u8>),
    Closed,
}

async fn serve(listener: TcpListener) {
    let mut directory = Directory::new(&DirectoryConfig { secret: [7; 32], entropy: [8; 32] });
    let origin = Instant::now();
    let mut connections = BTreeMap::new();
    let mut tasks = JoinSet::new();
    let (sender, mut heard) = unbounded_channel();
    let mut last = 0;
    loop {
        let mut input = None;
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                last += 1;
                tasks.spawn(connection(ConnId(last), stream, sender.clone()));
            }
            message = heard.recv() => input = message,
            () = sleep(Duration::from_millis(10)) => {}
        }
        let now = Time::from_micros(origin.elapsed().as_micros() as u64);
        match input {
            Some((conn, Heard::Opened(outgoing))) => {
                connections.insert(conn, outgoing);
                directory.handle_opened(now, conn, None);
            }
            Some((conn, Heard::Message(bytes))) => directory.handle_message(now, conn, &bytes),
            Some((conn, Heard::Closed)) => directory.handle_closed(now, conn),
            None => directory.handle_timeout(now),
        }
        while let Some(request) = directory.poll_request() {
            if let Request::Persist(record) = request {
                directory.handle_persisted(now, record.session, record.term);
            }
        }
        while let Some(output) = directory.poll_output() {
            match output {
                Output::Send { conn, bytes, .. } => {
                    _ = connections.get(&conn).map(|outgoing| outgoing.send(bytes))
                }
                Output::Close { conn, .. } => _ = connections.remove(&conn),
                Output::Note(_) => {}
            }
        }
    }
}

async fn connection(conn: ConnId, stream: TcpStream, heard: UnboundedSender<(ConnId, Heard)>) {
    let Ok(socket) = accept_async(stream).await else { return };
    let (mut sink, mut stream) = socket.split();
    let (outgoing, mut queue): (_, UnboundedReceiver<Vec<u8>>) = unbounded_channel();
    let _ = heard.send((conn, Heard::Opened(outgoing)));
    loop {
        tokio::select! {
            bytes = queue.recv() => match bytes {
                Some(bytes) => _ = sink.send(Message::binary(bytes)).await,
                None => break,
            },
            message = stream.next() => match message {
                Some(Ok(Message::Binary(bytes))) => _ = heard.send((conn, Heard::Message(bytes.to_vec()))),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            },
        }
    }
    let _ = sink.close().await;
    let _ = heard.send((conn, Heard::Closed));
}
