//! What `test`, `bench` and their like read: files, folders, images and standard input, as `gator test` takes them.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::image::{ImageError, load_image};
use super::load::{LoadError, Loaded, Manifest, Skipped, load, load_reader};

/// What standard input is called in places and messages.
pub(super) const STANDARD_INPUT: &str = "<stdin>";

/// Where templates, constraints and objects come from.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InputArgs {
    /// Files or folders with templates, constraints and objects.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The same, as gator has it; repeat it for several. Standard input is read as well unless it is a terminal, and for
    /// `-`.
    #[arg(long = "filename", short = 'f', value_name = "PATH")]
    pub filenames: Vec<PathBuf>,
    /// An OCI image with templates, constraints and objects: a folder with an image layout, and behind a colon the tag
    /// where it holds several; repeat it for several.
    #[arg(long = "image", short = 'i', value_name = "LAYOUT[:TAG]")]
    pub images: Vec<String>,
}

/// Standard input, and whether somebody types on it.
pub struct StandardInput<'a> {
    /// The stream.
    pub reader: &'a mut dyn Read,
    /// A terminal is read only when asked for.
    pub is_terminal: bool,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) manifests: Vec<Manifest>,
    /// What the folders hold beside it.
    pub(super) skipped: Vec<Skipped>,
}

/// Why there is nothing to work on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum InputError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("no input: {0}")]
    Nothing(String),
}

impl InputError {
    /// The file it is about.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Load(LoadError::Read { path, .. } | LoadError::Syntax { path, .. }) => Some(path),
            _ => None,
        }
    }
}

/// Reads everything that the arguments name, in their order, and standard input last.
///
/// # Errors
/// All of them: every file that cannot be read, or that there is nothing at all.
pub(super) fn gather(args: &InputArgs, standard: StandardInput<'_>) -> Result<Gathered, Vec<InputError>> {
    let mut errors: Vec<InputError> = Vec::new();
    let mut gathered = Gathered::default();
    let mut looked_at = Vec::new();
    for image in &args.images {
        looked_at.push(format!("{image} holds no object"));
        match load_image(image) {
            Ok(manifests) => gathered.manifests.extend(manifests),
            Err(error) => errors.push(error.into()),
        }
    }
    let named = || args.paths.iter().chain(&args.filenames);
    let is_standard = |path: &&PathBuf| path.as_os_str() == "-";
    for path in named().filter(|path| !is_standard(path)) {
        let Loaded { manifests, errors: refused, skipped } = load(path);
        looked_at.push(emptiness(path, &skipped));
        gathered.manifests.extend(manifests);
        gathered.skipped.extend(skipped);
        errors.extend(refused.into_iter().map(InputError::Load));
    }
    if !standard.is_terminal || named().any(|path| is_standard(&path)) {
        looked_at.push("standard input holds no object".to_owned());
        match load_reader(Path::new(STANDARD_INPUT), standard.reader) {
            Ok(found) => gathered.manifests.extend(found),
            Err(error) => errors.push(error.into()),
        }
    }
    if errors.is_empty() && gathered.manifests.is_empty() {
        if named().next().is_none() && args.images.is_empty() {
            looked_at.push("name files or folders, or send manifests to standard input".to_owned());
        }
        errors.push(InputError::Nothing(looked_at.join("; ")));
    }
    if errors.is_empty() { Ok(gathered) } else { Err(errors) }
}

/// Why a path that could be read gave nothing.
fn emptiness(path: &Path, skipped: &[Skipped]) -> String {
    const SHOWN: usize = 3;
    let mut text = format!("{} holds no object", path.display());
    for (position, entry) in skipped.iter().take(SHOWN).enumerate() {
        let _ = write!(text, "{}{entry}", if position == 0 { " (skipped: " } else { ", " });
    }
    match skipped.len().checked_sub(SHOWN) {
        None if skipped.is_empty() => {}
        None | Some(0) => text.push(')'),
        Some(more) => {
            let _ = write!(text, " and {more} more)");
        }
    }
    text
}
