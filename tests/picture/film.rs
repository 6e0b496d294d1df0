//! A moving picture in the format WebP (RFC 9649): stills, each with its place and its time.

use std::time::Duration;

/// A still in the format WebP.
pub(crate) struct Frame {
    /// Pixels from the left; even.
    pub(crate) left: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) webp: Vec<u8>,
}

/// Frames, each with the time at which it is shown.
pub(crate) struct Film {
    width: u32,
    height: u32,
    frames: Vec<(Duration, Frame)>,
}

/// The flag of a picture that moves.
const ANIMATION: u8 = 0x02;
/// The flag of a frame that replaces the pixels that it covers, and stays.
const NO_BLEND: u8 = 0x02;

impl Film {
    pub(crate) const fn new(width: u32, height: u32) -> Self {
        Self { width, height, frames: Vec::new() }
    }

    /// Adds a frame that is shown from this time on.
    pub(crate) fn add(&mut self, at: Duration, frame: Frame) {
        self.frames.push((at, frame));
    }

    /// Returns the bytes of the whole film, which is repeated for ever. The last frame is shown until `at`.
    pub(crate) fn end(self, at: Duration) -> Vec<u8> {
        let mut head = vec![ANIMATION, 0, 0, 0];
        head.extend(u24(self.width - 1));
        head.extend(u24(self.height - 1));
        // A black background, and no limit of repetitions.
        let mut body = [chunk(b"VP8X", &head), chunk(b"ANIM", &[0, 0, 0, 255, 0, 0])].concat();
        let ends = self.frames.iter().skip(1).map(|(at, _)| *at).chain([at]);
        for ((from, frame), to) in self.frames.iter().zip(ends) {
            let milliseconds = u32::try_from((to - *from).as_millis()).expect("a short film");
            let mut still = Vec::new();
            for number in [frame.left / 2, 0, frame.width - 1, frame.height - 1, milliseconds] {
                still.extend(u24(number));
            }
            still.push(NO_BLEND);
            still.extend(image(&frame.webp));
            body.extend(chunk(b"ANMF", &still));
        }
        chunk(b"RIFF", &[b"WEBP", &body[..]].concat())
    }
}

fn u24(number: u32) -> [u8; 3] {
    let [low, middle, high, _] = number.to_le_bytes();
    [low, middle, high]
}

/// A chunk of RIFF: its name, its length, and its content, padded to an even length.
fn chunk(name: &[u8; 4], bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a short film").to_le_bytes();
    let mut chunk = [name, &length[..], bytes].concat();
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    chunk
}

/// The chunk of a still that holds its pixels.
fn image(webp: &[u8]) -> &[u8] {
    let mut rest = webp.strip_prefix(b"RIFF").and_then(|rest| rest.get(8..)).expect("a picture in WebP");
    loop {
        let length = u32::from_le_bytes(rest[4..8].try_into().expect("four bytes")) as usize;
        let (chunk, behind) = rest.split_at(8 + length.next_multiple_of(2));
        if matches!(&chunk[..4], b"VP8 " | b"VP8L") {
            return chunk;
        }
        rest = behind;
    }
}

#[test]
fn film_shows_each_still_for_its_time() {
    let still = |pixels: &[u8]| {
        chunk(b"RIFF", &[b"WEBP", &chunk(b"ICCP", &[1])[..], &chunk(b"VP8 ", pixels)].concat())
    };
    let mut film = Film::new(4, 3);
    film.add(Duration::ZERO, Frame { left: 0, width: 2, height: 3, webp: still(&[7, 8, 9]) });
    film.add(Duration::from_millis(300), Frame { left: 2, width: 2, height: 3, webp: still(&[5]) });
    let bytes = film.end(Duration::from_millis(1_000));
    assert_eq!(&bytes[..12], b"RIFF\x6a\0\0\0WEBP");
    assert_eq!(&bytes[12..30], b"VP8X\x0a\0\0\0\x02\0\0\0\x03\0\0\x02\0\0");
    let [first, second] = [&bytes[44..80], &bytes[80..]];
    assert_eq!(first[..24], *b"ANMF\x1c\0\0\0\0\0\0\0\0\0\x01\0\0\x02\0\0\x2c\x01\0\x02");
    assert_eq!(first[24..], *b"VP8 \x03\0\0\0\x07\x08\x09\0");
    assert_eq!(second[..24], *b"ANMF\x1a\0\0\0\x01\0\0\0\0\0\x01\0\0\x02\0\0\xbc\x02\0\x02");
    assert_eq!(second[24..], *b"VP8 \x01\0\0\0\x05\0");
}
