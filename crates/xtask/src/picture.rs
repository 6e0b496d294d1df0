//! `picture`: the moving picture of the README, taken from the running page by a test of `samovar-tests`.

use crate::check::browser::{self, Stage};
use crate::process::Result;
use crate::repo::Repo;
use crate::tools::Toolbox;

/// The path of the picture, from the repository's root.
const FILE: &str = "docs/host-goes.webp";

/// Builds what is out of date and takes the picture.
///
/// # Errors
/// The duel does not go on, or the picture cannot be written.
pub(crate) fn take(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<()> {
    let own = ("SAMOVAR_PICTURE", repo.root.join(FILE).into());
    let stage = Stage::build(repo, toolbox)?;
    browser::run(repo, &["picture"], &stage.variables().into_iter().chain([own]).collect::<Vec<_>>())
}
