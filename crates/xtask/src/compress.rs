//! Brotli as a server would send it: the best quality, done once when the page is built.

use std::path::{Path, PathBuf};
use std::{fs, io};

use brotli::enc::BrotliEncoderParams;
use brotli::enc::backward_references::BrotliEncoderMode as Mode;

use crate::process::{Explain, Result};

/// Best quality; slow, which is why a server does not do it for each request.
const QUALITY: i32 = 11;
/// The binary logarithm of the window in bytes, the largest that every browser accepts.
const WINDOW: i32 = 24;
/// The binary logarithm of the bytes that the encoder looks at in one go: 64 KB. A module becomes 0.2 % smaller than
/// without this limit.
const BLOCK: i32 = 16;
/// Numbers of nearest distances that get a symbol of their own. No rule tells the best number, so each is tried.
const DIRECT_DISTANCES: [u32; 3] = [15, 12, 8];

/// The size of one file of the page before and after compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Bytes of the file itself.
    pub(crate) plain: u64,
    /// Bytes that a browser downloads.
    pub(crate) sent: u64,
}

/// The place of a file's compressed form: `a.js.br` beside `a.js`.
pub(crate) fn compressed_form(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".br");
    name.into()
}

/// Writes the compressed form beside a file, unless the file is packed already and would grow.
///
/// # Errors
/// The file cannot be read, or its directory cannot be written.
pub(crate) fn compress(file: &Path) -> Result<()> {
    let plain = fs::read(file).explain(file.display())?;
    let small = brotli(&plain).explain(file.display())?;
    let place = compressed_form(file);
    if small.len() < plain.len() { fs::write(&place, small).explain(place.display()) } else { Ok(()) }
}

/// Measures a file by its compressed form, or by itself when it has none.
///
/// # Errors
/// The file does not exist.
pub(crate) fn sizes(file: &Path) -> Result<Sizes> {
    let plain = file.metadata().explain(file.display())?.len();
    let sent = compressed_form(file).metadata().map_or(plain, |small| small.len());
    Ok(Sizes { plain, sent })
}

/// Measures a file that has no compressed form.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn would_send(file: &Path) -> Result<u64> {
    let plain = fs::read(file).explain(file.display())?;
    Ok(brotli(&plain).explain(file.display())?.len() as u64)
}

/// Compresses with several settings, and returns the shortest result. In one mode the encoder chooses contexts, which
/// suits text. In the other mode the encoder goes by the upper bits of the last byte (RFC 7932 §7.1). These tell a
/// module's operations apart, and save 1.4 % of the module.
fn brotli(plain: &[u8]) -> io::Result<Vec<u8>> {
    let modes = [Mode::BROTLI_MODE_GENERIC, Mode::BROTLI_FORCE_MSB_PRIOR];
    let tries = modes.into_iter().flat_map(|mode| DIRECT_DISTANCES.map(|direct| (mode, direct)));
    let mut shortest: Option<Vec<u8>> = None;
    for (mode, direct) in tries {
        let mut parameters = BrotliEncoderParams {
            mode,
            quality: QUALITY,
            lgwin: WINDOW,
            lgblock: BLOCK,
            size_hint: plain.len(),
            ..BrotliEncoderParams::default()
        };
        parameters.dist.num_direct_distance_codes = direct;
        let mut small = Vec::new();
        brotli::BrotliCompress(&mut &*plain, &mut small, &parameters)?;
        if shortest.as_ref().is_none_or(|best| small.len() < best.len()) {
            shortest = Some(small);
        }
    }
    Ok(shortest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_gets_back_what_was_compressed() {
        let plain = b"teapot ".repeat(1_000);
        let small = brotli(&plain).unwrap();
        assert!(small.len() < 50, "{}", small.len());
        let mut back = Vec::new();
        brotli::BrotliDecompress(&mut &*small, &mut back).unwrap();
        assert_eq!(back, plain);
    }

    #[test]
    fn a_file_that_does_not_shrink_is_sent_as_it_is() {
        let directory = std::env::temp_dir().join(format!("samovar-xtask-br-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (text, noise) = (directory.join("a.js"), directory.join("b.bin"));
        fs::write(&text, "teapot ".repeat(100)).unwrap();
        fs::write(&noise, [7]).unwrap();
        compress(&text).unwrap();
        compress(&noise).unwrap();
        assert!(sizes(&text).unwrap().sent < 50);
        assert_eq!(sizes(&noise).unwrap(), Sizes { plain: 1, sent: 1 });
        assert!(!compressed_form(&noise).exists());
        fs::remove_dir_all(&directory).unwrap();
    }
}
