//! One direct connection: a peer connection with its two channels, run by a task of its own.
//!
//! Responsible for one attempt from its description to its end. The attempt reports [`ConnectionEvent::Opened`] only
//! when both channels can carry messages, and [`ConnectionEvent::Closed`] once, for any of these reasons: a channel
//! or the connection closed, the attempt took too long, a message was larger than any honest one, the stack panicked.
//! All queues are bounded: the task waits while its reader's queue is full. Over a slow link the connection drops
//! unreliable messages, and it ends when too many reliable ones wait.
//!
//! The stack's SCTP client silently loses messages that arrive after its SCTP association is up and before it first
//! looks at its channels. The offerer is that client. So the offerer greets with an empty message. The answerer sends
//! nothing until it has received a message, for [`HELLO_WAIT`] at most. The connection drops empty messages on the
//! reliable channel.

mod guarded_runtime;
mod stack;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
pub use samovar_peer::{ConnectionKey, Side};
use samovar_wire::Mode;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use webrtc::data_channel::DataChannelEvent;

pub use crate::config::NativeConfig;
pub use crate::relay_socket::Overflow;
pub use samovar_peer::IceServer;
use stack::{Stack, contain};

/// An event of a connection.
pub type ConnectionEvent = samovar_peer::ConnectionEvent<Bytes>;

/// The handle of a connection. Dropping it closes the connection; the queued messages have a quarter of a second to
/// go out first. The owner ignores the events that the connection reports after that.
#[derive(Debug)]
pub struct Connection {
    commands: UnboundedSender<Command>,
    waiting: Arc<Waiting>,
}

/// Bytes: the connection drops unreliable messages while more than this is queued.
const UNRELIABLE_QUEUE: usize = 64 * 1_024;
/// Bytes: a reliable message that finds more than this queued ends the connection.
const RELIABLE_QUEUE: usize = 1_024 * 1_024;
/// Bytes of the largest message that is passed on. Every layer above has a smaller limit.
const MESSAGE_MAX: usize = 64 * 1_024;
/// The longest time to gather candidates.
const GATHER_WITHIN: Duration = Duration::from_secs(1);
/// Time that a connection has, after its owner dropped it, to deliver the queued messages.
const LINGER: Duration = Duration::from_millis(250);
/// Time that an answerer waits for the offerer's greeting.
pub const HELLO_WAIT: Duration = Duration::from_millis(500);

impl Connection {
    /// Starts an attempt; must be called within a tokio runtime. Its events go to `events`, under `key`.
    #[must_use]
    pub fn start(
        key: ConnectionKey,
        side: Side,
        config: &NativeConfig,
        events: Sender<(ConnectionKey, ConnectionEvent)>,
    ) -> Self {
        let (commands, inbox) = unbounded_channel();
        let waiting = Arc::new(Waiting::default());
        let outlet = Outlet { key, events };
        tokio::spawn(run(
            side,
            config.clone(),
            Inbox { commands: inbox, waiting: Arc::clone(&waiting) },
            outlet,
        ));
        Self { commands, waiting }
    }

    /// Hands over the answer to the offer of this attempt.
    pub fn accept(&self, answer: String) {
        // The command is lost only when the task has ended, and the task reports its end by itself.
        let _ = self.commands.send(Command::Accept(answer));
    }

    /// Queues a message; never waits. An unreliable one is dropped while 64 KiB are queued in its channel.
    ///
    /// # Errors
    /// [`Overflow`] when the reliable channel has more than 1 MiB queued: drop the connection.
    pub fn send(&self, mode: Mode, bytes: Vec<u8>) -> Result<(), Overflow> {
        match (mode, self.waiting.of(mode).load(Ordering::Relaxed)) {
            (Mode::Unreliable, queued) if queued > UNRELIABLE_QUEUE => return Ok(()),
            (Mode::Reliable, queued) if queued > RELIABLE_QUEUE => return Err(Overflow),
            _ => {}
        }
        self.waiting.of(mode).fetch_add(cost(&bytes), Ordering::Relaxed);
        let _ = self.commands.send(Command::Send(mode, bytes));
        Ok(())
    }

    /// Bytes that wait in both channels: those that wait for the task now, and those that the stack held when it last
    /// took a message. The stack's bytes include those that it has sent and has no ack for.
    #[must_use]
    pub fn backlog(&self) -> usize {
        let Waiting { unreliable, reliable, in_stack } = &*self.waiting;
        [unreliable, reliable, &in_stack[0], &in_stack[1]]
            .iter()
            .map(|bytes| bytes.load(Ordering::Relaxed))
            .sum()
    }
}

#[derive(Debug)]
enum Command {
    Accept(String),
    Send(Mode, Vec<u8>),
}

/// Bytes on the way from the handle to the task, and the bytes of each channel that the stack held when the task last
/// asked it.
#[derive(Debug, Default)]
struct Waiting {
    unreliable: AtomicUsize,
    reliable: AtomicUsize,
    in_stack: [AtomicUsize; 2],
}

impl Waiting {
    fn of(&self, mode: Mode) -> &AtomicUsize {
        match mode {
            Mode::Unreliable => &self.unreliable,
            Mode::Reliable => &self.reliable,
        }
    }
}

/// The bytes that a queued message counts for: the smallest messages take memory, too.
fn cost(bytes: &[u8]) -> usize {
    bytes.len() + 32
}

struct Inbox {
    commands: UnboundedReceiver<Command>,
    waiting: Arc<Waiting>,
}

impl Inbox {
    /// Takes the next command; `None` when the handle was dropped and every queued command was taken.
    async fn next(&mut self) -> Option<Command> {
        let command = self.commands.recv().await?;
        if let Command::Send(mode, bytes) = &command {
            self.waiting.of(*mode).fetch_sub(cost(bytes), Ordering::Relaxed);
        }
        Some(command)
    }
}

struct Outlet {
    key: ConnectionKey,
    events: Sender<(ConnectionKey, ConnectionEvent)>,
}

impl Outlet {
    /// Reports an event, and waits for room in the reader's queue: a slow reader slows down the sender at the other
    /// end.
    async fn report(&self, event: ConnectionEvent) -> Result<(), Ended> {
        self.events.send((self.key, event)).await.map_err(|_| Ended("nobody listens any more"))
    }
}

/// The reason why a connection ended, for the log.
#[derive(Debug)]
struct Ended(&'static str);

impl From<webrtc::error::Error> for Ended {
    fn from(error: webrtc::error::Error) -> Self {
        tracing::debug!(%error, "the WebRTC stack refused");
        Self("the stack refused")
    }
}

async fn run(side: Side, config: NativeConfig, inbox: Inbox, outlet: Outlet) {
    let deadline = Instant::now() + config.open_within;
    let stack = contain(Stack::build(&config)).await;
    match stack {
        Some(Ok(stack)) => {
            let attempt = Attempt {
                greets: matches!(side, Side::Offer),
                open: (false, false),
                is_open: false,
                deadline,
                stack: &stack,
                outlet: &outlet,
            };
            match contain(attempt.run(side, inbox)).await {
                Some(Ok(())) => _ = contain(timeout(LINGER, stack.drained())).await,
                Some(Err(Ended(reason))) => {
                    let ConnectionKey { peer, attempt } = outlet.key;
                    tracing::debug!(%peer, attempt, reason, "connection ended");
                }
                None => {}
            }
            let _ = outlet.report(ConnectionEvent::Closed).await;
            contain(stack.close()).await;
        }
        Some(Err(error)) => {
            tracing::warn!(%error, "no connection can be made");
            let _ = outlet.report(ConnectionEvent::Closed).await;
        }
        None => {
            let _ = outlet.report(ConnectionEvent::Closed).await;
        }
    }
}

fn is_end(event: &DataChannelEvent) -> bool {
    matches!(event, DataChannelEvent::OnClose | DataChannelEvent::OnClosing | DataChannelEvent::OnError)
}

/// One attempt, while its task runs.
struct Attempt<'a> {
    stack: &'a Stack,
    outlet: &'a Outlet,
    greets: bool,
    /// Whether the unreliable and the reliable channel said that they are open.
    open: (bool, bool),
    is_open: bool,
    /// Time by which both channels must be open. Once they are, the answerer keeps here the end of its wait for the
    /// greeting.
    deadline: Instant,
}

impl Attempt<'_> {
    async fn run(mut self, side: Side, mut inbox: Inbox) -> Result<(), Ended> {
        timeout_at(self.deadline, self.describe(side))
            .await
            .map_err(|_| Ended("no description in time"))??;
        let stack = self.stack;
        loop {
            tokio::select! {
                command = inbox.next() => match command {
                    Some(command) => self.on_command(command, &inbox.waiting).await?,
                    None => return Ok(()),
                },
                event = stack.unreliable.poll() => match event {
                    Some(event) if !is_end(&event) => self.on_channel_event(Mode::Unreliable, event).await?,
                    _ => return self.read_out(&[Mode::Reliable], "a channel closed").await,
                },
                event = stack.reliable.poll() => match event {
                    Some(event) if !is_end(&event) => self.on_channel_event(Mode::Reliable, event).await?,
                    _ => return self.read_out(&[Mode::Unreliable], "a channel closed").await,
                },
                () = stack.signals.dead.notified() => return self.read_out(&[Mode::Reliable, Mode::Unreliable], "the connection failed").await,
                () = sleep_until(self.deadline), if !self.is_open => match self.open {
                    (true, true) => self.become_open().await?,
                    _ => return Err(Ended("not open in time")),
                },
            }
        }
    }

    async fn describe(&self, side: Side) -> Result<(), Ended> {
        self.stack
            .describe(match side {
                Side::Offer => None,
                Side::Answer(offer) => Some(offer),
            })
            .await?;
        // Leaves out candidates that come later: those of the other side may be enough.
        let _ = timeout(GATHER_WITHIN, self.stack.signals.gathered.notified()).await;
        let description = self.stack.description().await.ok_or(Ended("no description"))?;
        self.outlet.report(ConnectionEvent::Described(description)).await
    }

    async fn on_command(&mut self, command: Command, waiting: &Waiting) -> Result<(), Ended> {
        match command {
            Command::Accept(answer) => Ok(self.stack.accept(answer).await?),
            Command::Send(mode, bytes) => {
                let held = self.send(mode, &bytes).await?;
                waiting.in_stack[usize::from(mode == Mode::Reliable)].store(held, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Sends a message, and returns how many bytes of the channel the stack holds then.
    async fn send(&self, mode: Mode, bytes: &[u8]) -> Result<usize, Ended> {
        let channel = self.stack.channel(mode);
        let queued = channel.outstanding_bytes().await?;
        match mode {
            Mode::Unreliable if queued > UNRELIABLE_QUEUE => return Ok(queued),
            Mode::Reliable if queued > RELIABLE_QUEUE => return Err(Ended("the other end reads too slowly")),
            _ => {}
        }
        channel.send(BytesMut::from(bytes)).await?;
        Ok(queued + bytes.len())
    }

    /// Passes on the messages that had arrived when the connection ended. Each channel has a queue of its own, which
    /// ends when the channel closes. The end of one channel, or of the connection, overtakes the messages in the other
    /// queues.
    async fn read_out(&mut self, open: &[Mode], reason: &'static str) -> Result<(), Ended> {
        let until = Instant::now() + LINGER;
        for &mode in open {
            let channel = self.stack.channel(mode);
            while let Ok(Some(event)) = timeout_at(until, channel.poll()).await
                && !is_end(&event)
            {
                self.on_channel_event(mode, event).await?;
            }
        }
        Err(Ended(reason))
    }

    async fn on_channel_event(&mut self, mode: Mode, event: DataChannelEvent) -> Result<(), Ended> {
        match event {
            DataChannelEvent::OnOpen => {
                match mode {
                    Mode::Unreliable => self.open.0 = true,
                    Mode::Reliable => self.open.1 = true,
                }
                if self.open != (true, true) || self.is_open {
                    return Ok(());
                }
                if self.greets {
                    return self.become_open().await;
                }
                self.deadline = Instant::now() + HELLO_WAIT;
                Ok(())
            }
            DataChannelEvent::OnMessage(message) => self.on_message(mode, message.data.freeze()).await,
            _ => Ok(()),
        }
    }

    async fn on_message(&mut self, mode: Mode, bytes: Bytes) -> Result<(), Ended> {
        // The stack opens both channels at once, and passes no message up before that. So a message proves that both
        // are open.
        if !self.is_open {
            self.become_open().await?;
        }
        match bytes.len() {
            0 if mode == Mode::Reliable => Ok(()),
            0..=MESSAGE_MAX => self.outlet.report(ConnectionEvent::Packet(mode, bytes)).await,
            _ => Err(Ended("a message beyond every limit")),
        }
    }

    async fn become_open(&mut self) -> Result<(), Ended> {
        self.is_open = true;
        if self.greets {
            self.stack.reliable.send(BytesMut::new()).await?;
        }
        self.outlet.report(ConnectionEvent::Opened).await
    }
}
