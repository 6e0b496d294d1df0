//! Messages about objects, and the game's own (PROTOCOL §4 and §4.2).

use std::collections::BTreeSet;

use samovar_wire::limits::{FIELD_MAX, FIELDS_MAX};
use samovar_wire::object::{
    Announcement, Deaths, Destroy, FrameHead, Granted, MessageKind, Orphan, Traits, Update,
    encode_announcement, encode_update_head,
};
use samovar_wire::{DecodeError, Duration, Kind, ObjectId, PeerId, Reader, Stamp, Term, Time, Writer};

use crate::file::{Form, Vectors};
use crate::{OTHER, PEER};

/// An announcement with its kind, in a test's notation.
pub(crate) struct Announced<'a> {
    pub(crate) message: MessageKind,
    pub(crate) head: Announcement<'a>,
    pub(crate) fields: Vec<&'a [u8]>,
}

impl Announced<'_> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut out = Writer::new(out);
        out.u8(self.message as u8);
        encode_announcement(&self.head, self.fields.iter().copied(), &mut out);
    }

    /// Reads an announcement. Returns whether it is this one.
    pub(crate) fn is_next(&self, reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
        let message = MessageKind::decode(reader)?;
        let found = Announcement::decode(reader)?;
        let Announcement { id, owner, stamp, traits, sampled, frame, .. } = self.head;
        Ok(message == self.message
            && (found.id, found.owner, found.stamp) == (id, owner, stamp)
            && (found.traits, found.sampled, found.frame) == (traits, sampled, frame)
            && found.fields.iter().eq(self.fields.iter().copied()))
    }
}

const CREATE: MessageKind = MessageKind::Create;
const MIGRATE: MessageKind = MessageKind::Migrate;

fn id(creator: PeerId, number: u32) -> ObjectId {
    ObjectId { creator, number }
}

fn stamp(term: u64, counter: u32) -> Stamp {
    Stamp { term: Term(term), counter }
}

fn traits(kind: u8, reliable: bool, dies_with_owner: bool) -> Traits {
    let orphan = if dies_with_owner { Orphan::Destroy } else { Orphan::ToHost };
    Traits { reliable, orphan, ..Traits::of(Kind(kind)) }
}

fn head(id: ObjectId, owner: PeerId, stamp: Stamp, traits: Traits, sampled: u64) -> Announcement<'static> {
    Announcement::head(id, owner, stamp, traits, Time::from_micros(sampled))
}

fn announcements<'a>(twelve: &'a [u8], numbered: &'a [[u8; 1]]) -> Vec<(&'static str, Announced<'a>)> {
    let plain = traits(1, false, false);
    let dying = traits(1, false, true);
    let steady = traits(3, false, false);
    let create = head(id(OTHER, 1), OTHER, stamp(1, 0), dying, 1_500_000).in_frame(300);
    let bare = head(id(OTHER, 300), OTHER, stamp(300, 0), traits(255, false, false), 0);
    let migrate = head(id(OTHER, 1), PEER, stamp(2, 3), traits(1, true, true), u64::MAX);
    let session = head(ObjectId::SESSION, PEER, stamp(2, 1), traits(0, true, false), 7);
    let grant = head(id(OTHER, 1), PEER, stamp(2, 2), plain, 20);
    let orphan = head(id(OTHER, 2), OTHER, stamp(1, 0), traits(2, true, false), 20);
    let many = head(id(OTHER, 4), OTHER, stamp(1, 0), steady, 0);
    let long = head(id(OTHER, 5), OTHER, stamp(1, 0), steady, 0);
    let announced = |message, head, fields| Announced { message, head, fields };
    vec![
        ("create", announced(CREATE, create, vec![b"Ann", b"", twelve])),
        ("create_without_fields", announced(CREATE, bare, vec![])),
        ("migrate", announced(MIGRATE, migrate, vec![b"\xff"])),
        ("migrate_session", announced(MIGRATE, session, vec![&[0, 0, 1, 1], b""])),
        ("grant", announced(MessageKind::Grant, grant, vec![b"x"])),
        ("orphan", announced(MessageKind::Orphan, orphan, vec![b"y"])),
        ("create_with_64_fields", announced(CREATE, many, numbered.iter().map(|field| &field[..]).collect())),
        ("create_with_a_long_field", announced(CREATE, long, vec![&[0x5a; FIELD_MAX]])),
    ]
}

fn check_announcements(vectors: &mut Vectors) {
    let twelve: Vec<u8> = (0..12).collect();
    let numbered: Vec<[u8; 1]> = (0..FIELDS_MAX as u8).map(|index| [index]).collect();
    for (name, announced) in announcements(&twelve, &numbered) {
        let mut encoded = Vec::new();
        announced.encode(&mut encoded);
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            let mut reader = Reader::new(bytes);
            let equal = announced.is_next(&mut reader)?;
            reader.end()?;
            Ok(equal)
        });
    }
}

fn check_snapshot(vectors: &mut Vectors) {
    let first = head(id(OTHER, 1), OTHER, stamp(1, 0), traits(1, false, false), 5);
    let second = head(id(PEER, 2), OTHER, stamp(2, 1), traits(2, false, true), 6);
    let all = [
        Announced { message: CREATE, head: first, fields: vec![b"a"] },
        Announced { message: MIGRATE, head: second, fields: vec![b"b", b"c"] },
    ];
    let mut encoded = vec![MessageKind::Snapshot as u8];
    all.iter().for_each(|announced| announced.encode(&mut encoded));
    vectors.check("snapshot", Form::Closed, &encoded, |bytes| {
        let mut reader = Reader::new(bytes);
        let mut equal = MessageKind::decode(&mut reader)? == MessageKind::Snapshot;
        for announced in &all {
            equal &= announced.is_next(&mut reader)?;
        }
        reader.end()?;
        Ok(equal)
    });
}

/// An update in a test's notation. The age is in microseconds.
struct Changed<'a> {
    id: ObjectId,
    stamp: Stamp,
    age: u64,
    fields: &'a [(u8, &'a [u8])],
}

fn check_update(vectors: &mut Vectors, name: &'static str, base: u64, all: &[Changed<'_>]) {
    let mut encoded = Vec::new();
    let mut out = Writer::new(&mut encoded);
    out.u8(MessageKind::Update as u8);
    out.varint(base);
    for &Changed { id, stamp, age, fields } in all {
        encode_update_head(id, stamp, Duration::from_micros(age), fields.len() as u8, &mut out);
        for (index, value) in fields {
            out.u8(*index);
            out.prefixed(value);
        }
    }
    vectors.check(name, Form::Closed, &encoded, |bytes| {
        let mut reader = Reader::new(bytes);
        let mut equal = MessageKind::decode(&mut reader)? == MessageKind::Update;
        let base = Time::from_micros(reader.varint()?);
        for changed in all {
            let found = Update::decode(base, &mut reader)?;
            let fields = changed.fields.iter().map(|&(index, value)| (usize::from(index), value));
            equal &= (found.id, found.stamp) == (changed.id, changed.stamp);
            equal &= found.sampled == base - Duration::from_micros(changed.age);
            equal &= found.fields().eq(fields);
        }
        reader.end()?;
        Ok(equal)
    });
}

fn check_updates(vectors: &mut Vectors) {
    let twelve: Vec<u8> = (0..12).collect();
    let (id, first) = (id(OTHER, 1), stamp(1, 0));
    let moved = Changed { id, stamp: first, age: 16_667, fields: &[(1, &twelve)] };
    check_update(vectors, "update", 2_000_000, &[moved]);
    let two = [
        Changed { id, stamp: first, age: 0, fields: &[(0, b""), (63, b"z")] },
        Changed { id: self::id(PEER, 300), stamp: stamp(300, 7), age: 2_000_000, fields: &[(2, b"\x01")] },
    ];
    check_update(vectors, "update_of_two", 2_000_000, &two);
    check_update(vectors, "update_without_fields", 0, &[Changed { id, stamp: first, age: 0, fields: &[] }]);
}

fn check_destroy(vectors: &mut Vectors) {
    let destroy = Destroy { id: id(OTHER, 1), stamp: stamp(2, 3) };
    let mut encoded = Vec::new();
    let mut out = Writer::new(&mut encoded);
    out.u8(MessageKind::Destroy as u8);
    out.object_id(destroy.id);
    out.stamp(destroy.stamp);
    vectors.check("destroy", Form::Closed, &encoded, |bytes| {
        let mut reader = Reader::new(bytes);
        let kind = MessageKind::decode(&mut reader)?;
        let found = Destroy::decode(&mut reader)?;
        reader.end()?;
        Ok(kind == MessageKind::Destroy && found == destroy)
    });
}

fn check_frame(vectors: &mut Vectors) {
    let head = FrameHead { frame: 300, base: 246_912, count: 0, baselines: [5, 4, 0] };
    let mut encoded = vec![MessageKind::Frame as u8];
    head.encode(&mut Writer::new(&mut encoded));
    vectors.check("frame", Form::Open, &encoded, |bytes| {
        let mut reader = Reader::new(bytes);
        let kind = MessageKind::decode(&mut reader)?;
        let found = FrameHead::decode(&mut reader)?;
        let frames: Vec<u64> = found.frames().collect();
        Ok(kind == MessageKind::Frame && found == head && frames == [295, 291] && reader.is_empty())
    });
}

fn check_deaths(vectors: &mut Vectors) {
    let runs = [
        Deaths { creator: OTHER, first: 1, last: 300, stamp: stamp(1, 0) },
        Deaths { creator: PEER, first: u32::MAX, last: u32::MAX, stamp: stamp(300, 7) },
    ];
    let mut encoded = vec![MessageKind::Deaths as u8];
    runs.iter().for_each(|run| run.encode(&mut Writer::new(&mut encoded)));
    vectors.check("deaths", Form::Closed, &encoded, |bytes| {
        let mut reader = Reader::new(bytes);
        let mut equal = MessageKind::decode(&mut reader)? == MessageKind::Deaths;
        for run in &runs {
            equal &= Deaths::decode(&mut reader)? == *run;
        }
        reader.end()?;
        Ok(equal)
    });
}

fn check_granted(vectors: &mut Vectors) {
    let grants = [
        Granted { id: id(OTHER, 1), stamp: stamp(2, 3), owner: PEER },
        Granted { id: id(PEER, 300), stamp: stamp(300, 7), owner: OTHER },
    ];
    let mut encoded = vec![MessageKind::Granted as u8];
    grants.iter().for_each(|grant| grant.encode(&mut Writer::new(&mut encoded)));
    vectors.check("granted", Form::Closed, &encoded, |bytes| {
        let mut reader = Reader::new(bytes);
        let mut equal = MessageKind::decode(&mut reader)? == MessageKind::Granted;
        for grant in &grants {
            equal &= Granted::decode(&mut reader)? == *grant;
        }
        reader.end()?;
        Ok(equal)
    });
}

#[test]
fn messages_about_objects_match_their_vectors() {
    let mut vectors = Vectors::parse("objects", include_str!("objects.hex"));
    check_announcements(&mut vectors);
    check_snapshot(&mut vectors);
    check_updates(&mut vectors);
    check_destroy(&mut vectors);
    check_frame(&mut vectors);
    check_deaths(&mut vectors);
    check_granted(&mut vectors);
    let app = [&[MessageKind::App as u8][..], b"tea"].concat();
    vectors.check("app", Form::Open, &app, |bytes| {
        let mut reader = Reader::new(bytes);
        Ok(MessageKind::decode(&mut reader)? == MessageKind::App && reader.rest() == b"tea")
    });
    let mut kinds = vectors.bytes_at(0);
    kinds.insert(MessageKind::Control as u8);
    kinds.extend(Vectors::parse("wishes", include_str!("wishes.hex")).bytes_at(0));
    kinds.extend(Vectors::parse("inputs", include_str!("inputs.hex")).bytes_at(0));
    kinds.extend(
        [24, 25, 26, 27, 28]
            .iter()
            .filter(|kind| Vectors::parse("ordered", include_str!("ordered.hex")).bytes_at(0).contains(kind)),
    );
    let read = (0..=u8::MAX).filter(|&kind| MessageKind::decode(&mut Reader::new(&[kind])).is_ok());
    assert_eq!(kinds, read.collect::<BTreeSet<_>>(), "each kind of message has a vector");
    vectors.finish();
}

/// The bytes of an announcement with the given id, kind, traits and fields.
fn announcement(id: ObjectId, kind: u8, flags: u8, fields: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    out.object_id(id);
    out.u32(OTHER.0);
    out.stamp(stamp(1, 0));
    out.u8(kind);
    out.u8(flags);
    out.varint(0);
    out.varint(0);
    out.u8(fields.len() as u8);
    fields.iter().for_each(|field| out.prefixed(field));
    bytes
}

#[test]
fn announcements_that_no_owner_can_send_are_refused() {
    let refusal = |bytes: Vec<u8>| Announcement::decode(&mut Reader::new(&bytes)).err();
    let plain = id(OTHER, 1);
    assert_eq!(refusal(announcement(plain, 1, 0b110_1111, &[])), None);
    assert_eq!(refusal(announcement(plain, 1, 128, &[])), Some(DecodeError::Invalid), "an unknown trait");
    assert_eq!(refusal(announcement(plain, 0, 0, &[])), Some(DecodeError::Invalid), "the session's kind");
    assert_eq!(refusal(announcement(ObjectId::SESSION, 1, 1, &[])), Some(DecodeError::Invalid), "its id");
    let too_many = vec![Vec::new(); FIELDS_MAX + 1];
    assert_eq!(refusal(announcement(plain, 1, 0, &too_many)), Some(DecodeError::TooLarge));
    let too_long = [vec![0; FIELD_MAX + 1]];
    assert_eq!(refusal(announcement(plain, 1, 0, &too_long)), Some(DecodeError::TooLarge));
}

#[test]
fn an_update_of_a_field_beyond_the_limit_is_refused() {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    encode_update_head(id(OTHER, 1), stamp(1, 0), Duration::ZERO, 1, &mut out);
    out.u8(FIELDS_MAX as u8);
    out.prefixed(b"x");
    let refusal = Update::decode(Time::ZERO, &mut Reader::new(&bytes)).err();
    assert_eq!(refusal, Some(DecodeError::TooLarge));
}
