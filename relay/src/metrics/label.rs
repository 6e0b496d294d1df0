//! The labels of the counters: each enum has a table of counters, and a label for each of its values.

use samovar_directory::HostChange;
use samovar_wire::Mode;
use samovar_wire::relay::{Refusal, RelayFrame};

samovar_wire::counted! {
    /// The kind of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Kind {
        /// A forwarded packet, which may be dropped.
        Packet,
        /// A forwarded chunk of bulk, which may not be dropped.
        Bulk,
        /// A message between a peer and the relay itself.
        Control,
    }
}

samovar_wire::counted! {
    /// The path by which a message comes or goes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Way {
        /// A WebSocket.
        WebSocket,
        /// Data channels.
        Channels,
    }
}

samovar_wire::counted! {
    /// The reason why a datagram was dropped, or not sent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Undelivered {
        /// The datagram belongs to no connection, and is no request for an address.
        Unknown,
        /// The receiver has not proved that it is at its address, and has been sent as many bytes as came from there.
        Unproven,
        /// The member sends too many datagrams.
        Rate,
        /// The system did not take the datagram.
        System,
        /// Too many datagrams wait for the thread of the member.
        Busy,
    }
}

samovar_wire::counted! {
    /// The reason why a packet was dropped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Dropped {
        /// The receiver's queue is full, and the packet was the oldest in it.
        QueueFull,
        /// The receiver is not connected.
        NoReceiver,
        /// The sender sends too much.
        MemberRate,
        /// The sender's address sends too much.
        AddressRate,
        /// The sender's game sends too much.
        GameRate,
    }
}

samovar_wire::counted! {
    /// The reason why a connection was refused before its request was heard.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Turned {
        /// The relay has the most connections that it takes.
        Connections,
        /// The caller's address has the most connections allowed.
        AddressConnections,
        /// The caller's address opens too many connections in a second.
        AddressOpens,
        /// The caller's address has had the most answers allowed.
        AddressRate,
        /// The caller did not send its request in time.
        Handshake,
        /// The caller's page is not let in.
        Origin,
        /// The caller sent far more than a request needs.
        RequestSize,
        /// The caller asked for a WebSocket without the header lines for one.
        NoUpgrade,
        /// The system gives the process no more descriptors.
        Descriptors,
        Banned,
    }
}

samovar_wire::counted! {
    /// The outcome of an offer of data channels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Offered {
        /// The offer was invalid, or could not be answered.
        Refused,
        /// The channels worked.
        Opened,
        /// The offer was answered, and no datagram came.
        Unreached,
        /// Datagrams came, but no message on the channels.
        Unopened,
    }
}

samovar_wire::counted! {
    /// The reason why the relay closed an admitted connection without refusing it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Ended {
        /// Too many reliable messages waited for the connection.
        TooSlow,
        /// The peer answered no ping.
        Silent,
        /// The peer never sent its `Enter`.
        NoEnter,
        /// The peer came back on another connection.
        Replaced,
        /// No host had named the peer for a long time, and a newcomer took its place.
        GaveWay,
        /// The peer left.
        Left,
        /// The connection's task or the state machine of its data channels panicked, which is a bug.
        Panicked,
    }
}

samovar_wire::counted! {
    /// The reason why the directory refused a peer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Refused {
        UnknownGame,
        CodeTaken,
        Full,
        Closed,
        Version,
        Parameters,
        BadPass,
        Busy,
        Misbehaved,
        Draining,
        Barred,
        Reserved,
        Banned,
        Ended,
        Token,
        NotAllowed,
    }
}

samovar_wire::counted! {
    /// The reason for a change of host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Changed {
        HandedOver,
        Disconnected,
        Missed,
        Silent,
        PutOut,
        Shown,
    }
}

impl Kind {
    /// The kind of a frame.
    pub(crate) const fn of(frame: &RelayFrame<'_>) -> Self {
        match frame {
            RelayFrame::Forward { mode, .. } => Self::of_mode(*mode),
            RelayFrame::Control(_) => Self::Control,
        }
    }

    /// The kind of a forwarded payload in a mode.
    pub(crate) const fn of_mode(mode: Mode) -> Self {
        match mode {
            Mode::Unreliable => Self::Packet,
            Mode::Reliable => Self::Bulk,
        }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownGame => Self::UnknownGame,
            Refusal::CodeTaken => Self::CodeTaken,
            Refusal::Full => Self::Full,
            Refusal::Closed => Self::Closed,
            Refusal::Version(_) => Self::Version,
            Refusal::Parameters => Self::Parameters,
            Refusal::BadPass => Self::BadPass,
            Refusal::Busy => Self::Busy,
            Refusal::Misbehaved => Self::Misbehaved,
            Refusal::Draining => Self::Draining,
            Refusal::Barred => Self::Barred,
            Refusal::Reserved => Self::Reserved,
            Refusal::Banned => Self::Banned,
            Refusal::Ended => Self::Ended,
            Refusal::Token(_) => Self::Token,
            Refusal::NotAllowed => Self::NotAllowed,
        }
    }
}

impl From<HostChange> for Changed {
    fn from(cause: HostChange) -> Self {
        match cause {
            HostChange::HandedOver => Self::HandedOver,
            HostChange::Disconnected => Self::Disconnected,
            HostChange::Missed => Self::Missed,
            HostChange::Silent => Self::Silent,
            HostChange::PutOut => Self::PutOut,
            HostChange::Shown => Self::Shown,
        }
    }
}

macro_rules! labels {
    ($($name:ident { $($variant:ident = $label:literal),+ $(,)? })+) => {
        $(impl $name {
            /// The label in scrapes.
            pub(crate) const fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label),+
                }
            }
        })+
    };
}

labels! {
    Way { WebSocket = "websocket", Channels = "webrtc" }
    Kind { Packet = "packet", Bulk = "bulk", Control = "control" }
    Undelivered { Unknown = "unknown", Unproven = "unproven", Rate = "rate", System = "system", Busy = "busy" }
    Dropped {
        QueueFull = "queue_full",
        NoReceiver = "no_receiver",
        MemberRate = "member_rate",
        AddressRate = "address_rate",
        GameRate = "game_rate",
    }
    Turned {
        Connections = "connections",
        AddressConnections = "address_connections",
        AddressOpens = "address_opens",
        AddressRate = "address_rate",
        Handshake = "handshake_timeout",
        Origin = "origin",
        RequestSize = "request_size",
        NoUpgrade = "no_upgrade",
        Descriptors = "descriptors",
        Banned = "address_banned",
    }
    Offered { Refused = "refused", Opened = "opened", Unreached = "unreached", Unopened = "unopened" }
    Ended {
        TooSlow = "too_slow",
        Silent = "silent",
        NoEnter = "no_enter",
        Replaced = "replaced",
        GaveWay = "gave_way",
        Left = "left",
        Panicked = "panicked",
    }
    Refused {
        UnknownGame = "unknown_game",
        CodeTaken = "code_taken",
        Full = "full",
        Closed = "closed",
        Version = "version",
        Parameters = "parameters",
        BadPass = "bad_pass",
        Busy = "busy",
        Misbehaved = "misbehaved",
        Draining = "draining",
        Barred = "barred",
        Reserved = "reserved",
        Banned = "banned",
        Ended = "ended",
        Token = "token",
        NotAllowed = "not_allowed",
    }
    Changed {
        HandedOver = "handed_over",
        Disconnected = "disconnected",
        Missed = "missed",
        Silent = "silent",
        PutOut = "put_out",
        Shown = "shown",
    }
}
