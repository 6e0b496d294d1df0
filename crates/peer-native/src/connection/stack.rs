//! The `webrtc` crate's side of a connection: its configuration, its two channels, its signals.

use std::any::Any;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rtc::ice::mdns::MulticastDnsMode;
use rtc::peer_connection::configuration::setting_engine::SctpMaxMessageSize;
use rtc::peer_connection::transport::RTCDtlsRole;
use samovar_wire::Mode;
use tokio::sync::Notify;
use tokio::time::sleep;
use webrtc::data_channel::{DataChannel, RTCDataChannelInit};
use webrtc::error::Result;
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCConfigurationBuilder,
    RTCIceGatheringState, RTCIceServer, RTCPeerConnectionState, RTCSessionDescription, SettingEngine,
    SettingEngineBuilder,
};
use webrtc::runtime::default_runtime;

use super::NativeConfig;
use super::guarded_runtime::GuardedRuntime;

/// Signals that the stack gives from its own task.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// Fires when every local candidate is known.
    pub(super) gathered: Notify,
    /// Fires when the connection will never carry anything again.
    pub(super) dead: Notify,
}

/// One peer connection with both channels created, before any description.
pub(super) struct Stack {
    pub(super) unreliable: Arc<dyn DataChannel>,
    pub(super) reliable: Arc<dyn DataChannel>,
    pub(super) signals: Arc<Signals>,
    connection: Box<dyn PeerConnection>,
}

impl Stack {
    pub(super) async fn build(config: &NativeConfig) -> Result<Self> {
        let signals = Arc::new(Signals::default());
        let mut builder = PeerConnectionBuilder::new()
            .with_configuration(RTCConfigurationBuilder::new().with_ice_servers(servers(config)).build())
            .with_setting_engine(settings())
            .with_handler(Arc::new(Listener(Arc::clone(&signals))))
            .with_udp_addrs(config.bind.iter().map(|&ip| SocketAddr::new(ip, 0)).collect());
        if let Some(runtime) = default_runtime() {
            builder = builder.with_runtime(Arc::new(GuardedRuntime::new(runtime, Arc::clone(&signals))));
        }
        let connection = builder.build().await?;
        let unreliable = RTCDataChannelInit {
            ordered: false,
            max_retransmits: Some(0),
            negotiated: Some(0),
            ..RTCDataChannelInit::default()
        };
        let reliable = RTCDataChannelInit { negotiated: Some(1), ..RTCDataChannelInit::default() };
        Ok(Self {
            unreliable: connection.create_data_channel("unreliable", Some(unreliable)).await?,
            reliable: connection.create_data_channel("reliable", Some(reliable)).await?,
            signals,
            connection: Box::new(connection),
        })
    }

    pub(super) fn channel(&self, mode: Mode) -> &dyn DataChannel {
        match mode {
            Mode::Unreliable => &*self.unreliable,
            Mode::Reliable => &*self.reliable,
        }
    }

    /// Starts the description of this side: an offer, or the answer to `offer`.
    pub(super) async fn describe(&self, offer: Option<String>) -> Result<()> {
        let description = match offer {
            None => self.connection.create_offer(None).await?,
            Some(offer) => {
                self.connection.set_remote_description(RTCSessionDescription::offer(offer)?).await?;
                self.connection.create_answer(None).await?
            }
        };
        self.connection.set_local_description(description).await
    }

    /// This side's description with the candidates known so far.
    pub(super) async fn description(&self) -> Option<String> {
        self.connection.local_description().await.map(|description| description.sdp)
    }

    pub(super) async fn accept(&self, answer: String) -> Result<()> {
        self.connection.set_remote_description(RTCSessionDescription::answer(answer)?).await
    }

    /// Waits until the other side has acknowledged everything or the channels are gone.
    pub(super) async fn drained(&self) {
        for channel in [&self.reliable, &self.unreliable] {
            while channel.outstanding_bytes().await.is_ok_and(|bytes| bytes > 0) {
                sleep(Duration::from_millis(5)).await;
            }
        }
    }

    /// Aborts the SCTP association and stops the stack's task.
    pub(super) async fn close(&self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "closing a connection that was closed already");
        }
    }
}

/// Runs a piece of the stack so that its panic ends only this connection: hostile SCTP chunks are known to make the
/// stack panic. Returns `None` after a panic.
pub(super) async fn contain<T>(step: impl Future<Output = T>) -> Option<T> {
    match AssertUnwindSafe(step).catch_unwind().await {
        Ok(value) => Some(value),
        Err(panic) => {
            report_panic(panic.as_ref());
            None
        }
    }
}

pub(super) fn report_panic(panic: &(dyn Any + Send)) {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::warn!(panic = text.unwrap_or("not a text"), "the WebRTC stack of one connection panicked");
}

fn servers(config: &NativeConfig) -> Vec<RTCIceServer> {
    let server = |server: &super::IceServer| RTCIceServer {
        urls: vec![server.url.clone()],
        username: server.username.clone(),
        credential: server.credential.clone(),
    };
    config.ice_servers.iter().map(server).collect()
}

fn settings() -> SettingEngine {
    SettingEngineBuilder::new()
        // Without mDNS, a native peer does not announce itself to other machines on this network.
        .with_multicast_dns_mode(MulticastDnsMode::Disabled)
        // The answerer is the DTLS server: it waits for the handshake instead of starting one, which saves a round
        // trip.
        .with_answering_dtls_role(RTCDtlsRole::Server)
        // With a limit, the stack would lose larger messages without a report. Without a limit the connection sees
        // them and ends.
        .with_sctp_max_message_size(SctpMaxMessageSize::Unbounded)
        .build()
}

struct Listener(Arc<Signals>);

#[async_trait::async_trait]
impl PeerConnectionEventHandler for Listener {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            self.0.gathered.notify_one();
        }
    }

    async fn on_connection_state_change(&self, state: RTCPeerConnectionState) {
        if matches!(state, RTCPeerConnectionState::Failed | RTCPeerConnectionState::Closed) {
            self.0.dead.notify_one();
        }
    }

    async fn on_data_channel(&self, _: Arc<dyn DataChannel>) {
        // Both sides agree on the two channels beforehand: a peer that opens a third one speaks another protocol.
        self.0.dead.notify_one();
    }
}
