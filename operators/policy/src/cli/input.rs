//! What `test`, `bench` and their like read: files, folders and standard input, as `gator test` takes them.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::load::{LoadError, Manifest, load, load_reader};

/// What standard input is called in places and messages.
pub(super) const STANDARD_INPUT: &str = "<stdin>";

/// Where templates, constraints and objects come from.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InputArgs {
    /// A file or a folder with templates, constraints and objects; repeat it for several. Standard input is read as
    /// well unless it is a terminal, and for `-`.
    #[arg(long = "filename", short = 'f', value_name = "PATH")]
    pub filenames: Vec<PathBuf>,
    /// Not supported; says what to do instead.
    #[arg(long = "image", short = 'i', hide = true, value_name = "URL")]
    pub images: Vec<String>,
}

/// Standard input, and whether somebody types on it.
pub struct StandardInput<'a> {
    /// The stream.
    pub reader: &'a mut dyn Read,
    /// A terminal is read only when asked for.
    pub is_terminal: bool,
}

/// Why there is nothing to work on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum InputError {
    #[error(
        "{0}: policies are not pulled from OCI images: unpack the image (`oras pull`, `crane export`) and name the folder with --filename"
    )]
    Image(String),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("no input: name files or folders with --filename, or send manifests to standard input")]
    Nothing,
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
pub(super) fn gather(
    args: &InputArgs,
    standard: StandardInput<'_>,
) -> Result<Vec<Manifest>, Vec<InputError>> {
    let mut errors: Vec<_> = args.images.iter().cloned().map(InputError::Image).collect();
    let mut manifests = Vec::new();
    let is_standard = |path: &&PathBuf| path.as_os_str() == "-";
    for path in args.filenames.iter().filter(|path| !is_standard(path)) {
        let (found, refused) = load(path);
        manifests.extend(found);
        errors.extend(refused.into_iter().map(InputError::Load));
    }
    if !standard.is_terminal || args.filenames.iter().any(|path| is_standard(&path)) {
        match load_reader(Path::new(STANDARD_INPUT), standard.reader) {
            Ok(found) => manifests.extend(found),
            Err(error) => errors.push(error.into()),
        }
    }
    if errors.is_empty() && manifests.is_empty() {
        errors.push(InputError::Nothing);
    }
    if errors.is_empty() { Ok(manifests) } else { Err(errors) }
}
