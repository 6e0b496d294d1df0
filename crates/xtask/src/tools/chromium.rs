//! The browser of the tests and its driver.

use std::path::{Path, PathBuf};

use super::debian;
use crate::process::{self, Failure, Result};

/// Names of a Chromium or Chrome, the plain one first.
const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];

/// The place of Chrome on macOS.
const MACOS: &str = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

/// A Chromium and the `chromedriver` that drives it.
pub(crate) struct Chromium {
    /// The browser's program.
    pub(crate) browser: PathBuf,
    /// The driver's program.
    pub(crate) driver: PathBuf,
}

impl Chromium {
    /// Finds both, from `SAMOVAR_CHROMIUM` and `CHROMEDRIVER` or on `PATH`; installs Debian's packages if they are
    /// missing and this process may.
    ///
    /// # Errors
    /// One of them is still missing. The error names the packages to install.
    pub(crate) fn ensure() -> Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        debian::install(&["chromium", "chromium-driver"])?;
        Self::find().ok_or_else(|| {
            Failure::new(
                "the tests need Chromium and chromedriver. Debian: apt-get install chromium chromium-driver. \
                 Fedora: dnf install chromium chromedriver. Arch: pacman -S chromium. \
                 macOS: brew install --cask google-chrome chromedriver. \
                 Or set SAMOVAR_CHROMIUM and CHROMEDRIVER to their paths",
            )
        })
    }

    fn find() -> Option<Self> {
        let named =
            |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.exists());
        let browser = named("SAMOVAR_CHROMIUM")
            .or_else(|| NAMES.into_iter().find_map(process::find))
            .or_else(|| Some(PathBuf::from(MACOS)).filter(|path| path.exists()))?;
        let driver = named("CHROMEDRIVER")
            .or_else(|| process::find("chromedriver"))
            // Debian and systems derived from it keep the driver beside the browser's own files.
            .or_else(|| {
                Some(Path::new("/usr/lib/chromium/chromedriver").to_owned()).filter(|path| path.exists())
            })?;
        Some(Self { browser, driver })
    }
}
