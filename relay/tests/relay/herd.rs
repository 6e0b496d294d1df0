//! Five hundred members of a killed relay come back, and not all at once.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use samovar_directory::{Client, ClientConfig, ClientEvent, ClientRequest};
use samovar_wire::relay::Purpose;
use samovar_wire::{PROTOCOL_VERSION, Time};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::figures::are_asserted;
use crate::peer::code;
use crate::process::{RelayProcess, Scratch};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

const MEMBERS: usize = 500;
const PER_GAME: usize = 10;
/// The time that the relay is gone.
const GONE_FOR: Duration = Duration::from_millis(1_500);

/// The times at which members entered.
type Entries = Arc<Mutex<Vec<Instant>>>;

/// One member: a peer's client, with a socket.
async fn live(url: String, index: usize, start: Instant, entries: Entries) {
    let name = code(&format!("HERD-{}", index / PER_GAME));
    let is_founder = index.is_multiple_of(PER_GAME);
    let purpose = if is_founder { Purpose::Create(Some(name)) } else { Purpose::Join(name) };
    let now = || Time::from_micros(start.elapsed().as_micros() as u64);
    let mut entropy = [0; 32];
    entropy[..8].copy_from_slice(&(index as u64).to_le_bytes());
    let mut client = Client::new(
        now(),
        ClientConfig { version: PROTOCOL_VERSION, params: 1, purpose, token: None, entropy },
    );
    let mut socket: Option<Socket> = None;
    loop {
        while let Some(request) = client.poll_request() {
            match request {
                ClientRequest::Open(id) => {
                    socket = connect_async(url.as_str()).await.ok().map(|(socket, _)| socket);
                    match &socket {
                        Some(_) => client.handle_opened(now(), id),
                        None => client.handle_closed(now(), id),
                    }
                }
                ClientRequest::Close(_) => socket = None,
            }
        }
        while let Some((_, bytes)) = client.poll_transmit() {
            if let Some(socket) = &mut socket {
                socket.send(Message::binary(bytes)).await.ok();
            }
        }
        while let Some(event) = client.poll_event() {
            if matches!(event, ClientEvent::Entered(_) | ClientEvent::Restored) {
                entries.lock().expect("no panic").push(Instant::now());
            }
        }
        let wake = client.poll_timeout().unwrap_or(Time::FAR);
        let sleep = tokio::time::sleep(Duration::from_micros(wake.since(now()).as_micros()));
        let heard = async {
            match &mut socket {
                Some(socket) => socket.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = sleep => client.handle_timeout(now()),
            message = heard => match message {
                Some(Ok(Message::Binary(bytes))) => client.handle_message(now(), client.socket(), &bytes),
                Some(Ok(Message::Close(_)) | Err(_)) | None => {
                    socket = None;
                    client.handle_closed(now(), client.socket());
                }
                Some(Ok(_)) => {}
            },
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_a_killed_relay_do_not_return_all_at_once() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (url, start, entries) = (format!("ws://{}/ws", relay.address), Instant::now(), Entries::default());
    let count = || entries.lock().expect("no panic").len();
    for index in 0..MEMBERS {
        tokio::spawn(live(url.clone(), index, start, Arc::clone(&entries)));
        if index % PER_GAME == 0 {
            // Waits until the founder's game exists, because others join it next.
            while count() <= index {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
    relay.metric_becomes("samovar_members{path=\"websocket\"}", |members| members == MEMBERS as f64).await;
    let address = relay.address.clone();
    entries.lock().expect("no panic").clear();
    relay.kill();
    tokio::time::sleep(GONE_FOR).await;
    let relay = RelayProcess::start_at(&address, data.path());
    let back = Instant::now();
    relay.metric_becomes("samovar_members{path=\"websocket\"}", |members| members == MEMBERS as f64).await;
    let mut came: Vec<_> =
        entries.lock().expect("no panic").iter().map(|at| at.duration_since(back)).collect();
    came.sort();
    assert_eq!(came.len(), MEMBERS, "each came back once");
    let in_window = |from: &Duration| {
        came.iter().filter(|&at| (*from..*from + Duration::from_millis(100)).contains(at)).count()
    };
    let peak = came.iter().map(in_window).max().expect("somebody came");
    println!("all back after {:?}; {peak} of {MEMBERS} within the busiest 100 ms", came[MEMBERS - 1]);
    // A machine with other work may let them in all at once, when it has time. So the peak is not always asserted.
    assert!(!are_asserted() || peak < MEMBERS / 5, "{peak} of {MEMBERS} came within 100 ms");
}
