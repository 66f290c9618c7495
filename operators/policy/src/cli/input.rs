//! The inputs of `test`, `bench` and the like: files, folders, images and standard input, as `gator test` takes them.

use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::assemble::{Topic, Warning};
use super::image::load_image;
use super::load::{Skipped, load, load_reader};
use super::manifest::{Manifest, ManifestError, ManifestErrors};

/// The name of standard input in places and messages.
pub(super) const STANDARD_INPUT: &str = "<stdin>";

/// The sources of templates, constraints and objects.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InputArgs {
    /// Files or folders with templates, constraints and objects.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The same, as gator has it; repeat it for several. Standard input is read as well unless it is a terminal, and for
    /// `-`.
    #[arg(long = "filename", short = 'f', value_name = "PATH")]
    pub filenames: Vec<PathBuf>,
    /// An OCI image with templates, constraints and objects: REGISTRY/NAME:TAG, REGISTRY/NAME@DIGEST, or a folder with an
    /// image layout, and behind a colon the tag where it holds several; repeat it for several.
    #[arg(long = "image", short = 'i', value_name = "IMAGE")]
    pub images: Vec<String>,
    /// For command lines of gator.
    #[command(flatten)]
    pub tempdir: TempDir,
}

/// The sources of a command whose paths are described where they are: `gator expand` and `gator sync test` have `-n` for what
/// `gator test` calls `-f`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SourceArgs {
    /// The same, as gator has it; repeat it for several. Standard input is read as well unless it is a terminal.
    #[arg(long = "filename", short = 'n', value_name = "PATH")]
    pub filenames: Vec<PathBuf>,
    /// An OCI image: REGISTRY/NAME:TAG, REGISTRY/NAME@DIGEST, or a folder with an image layout, and behind a colon the tag
    /// where it holds several.
    #[arg(long = "image", short = 'i', value_name = "IMAGE")]
    pub images: Vec<String>,
    /// For command lines of gator.
    #[command(flatten)]
    pub tempdir: TempDir,
}

/// A flag of gator that is not needed here.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TempDir {
    /// Without effect: images are read where they are, and nothing is unpacked to a disk.
    #[arg(long, short = 'd', value_name = "FOLDER", hide_short_help = true)]
    pub tempdir: Option<PathBuf>,
}

impl SourceArgs {
    /// Returns the inputs with these paths.
    pub(super) fn with_paths(&self, paths: &[PathBuf]) -> InputArgs {
        let Self { filenames, images, tempdir } = self.clone();
        InputArgs { paths: paths.to_vec(), filenames, images, tempdir }
    }
}

/// Standard input, and whether it is a terminal.
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
    /// The entries of the folders that were skipped.
    pub(super) skipped: Vec<Skipped>,
    /// The paths that were named and hold no object, and why.
    empty: Vec<String>,
}

impl Gathered {
    /// Returns what was named, or is in a named folder, and has no part in the outcome. `all` adds the files of folders
    /// that no manifest is expected in.
    pub(super) fn warnings(&self, all: bool) -> Vec<Warning> {
        let skipped = self.skipped.iter().filter(|entry| all || entry.reason.is_surprising());
        let skipped = skipped.map(|entry| format!("skipped {entry}"));
        skipped.chain(self.empty.iter().cloned()).map(|text| Warning::general(Topic::Skipped, text)).collect()
    }

    /// Prints these warnings for a command that has no other ones.
    pub(super) fn warn(&self, command: &str, err: &mut dyn Write) {
        // Ignore write errors: stderr is closed.
        let _ = Warning::print(&self.warnings(false), command, false, err);
    }
}

/// Reads everything that the arguments name, in their order, and standard input last.
///
/// # Errors
/// All of them: every file that cannot be read, or that there is nothing at all.
pub(super) fn gather(args: &InputArgs, standard: StandardInput<'_>) -> Result<Gathered, ManifestErrors> {
    let mut errors: Vec<ManifestError> = Vec::new();
    let mut gathered = Gathered::default();
    for image in &args.images {
        match load_image(image) {
            Ok(manifests) if manifests.is_empty() => gathered.empty.push(format!("{image} holds no object")),
            Ok(manifests) => gathered.manifests.extend(manifests),
            Err(error) => errors.push(unplaced(&error)),
        }
    }
    let named = || args.paths.iter().chain(&args.filenames);
    // What is redirected to standard input would be read once more by that name.
    let is_standard = |path: &&PathBuf| path.as_os_str() == "-" || path.as_os_str() == "/dev/stdin";
    for path in named().filter(|path| !is_standard(path)) {
        let loaded = load(path);
        if loaded.manifests.is_empty() && loaded.errors.is_empty() {
            gathered.empty.push(loaded.emptiness(path));
        }
        gathered.manifests.extend(loaded.manifests);
        gathered.skipped.extend(loaded.skipped);
        errors.extend(loaded.errors.into_iter().map(ManifestError::from));
    }
    let is_named = named().any(|path| is_standard(&path));
    if !standard.is_terminal || is_named {
        match load_reader(Path::new(STANDARD_INPUT), standard.reader) {
            // Programs that start others often leave them an empty one.
            Ok(found) if found.is_empty() && (is_named || gathered.manifests.is_empty()) => {
                gathered.empty.push("standard input holds no object".to_owned());
            }
            Ok(found) => gathered.manifests.extend(found),
            Err(error) => errors.push(error.into()),
        }
    }
    if errors.is_empty() && gathered.manifests.is_empty() {
        if named().next().is_none() && args.images.is_empty() {
            gathered.empty.push("name files or folders, or send manifests to standard input".to_owned());
        }
        errors.push(unplaced(&format!("no input: {}", gathered.empty.join("; "))));
    }
    if errors.is_empty() { Ok(gathered) } else { Err(errors.into()) }
}

fn unplaced(error: &dyn fmt::Display) -> ManifestError {
    ManifestError { place: None, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(paths: &[&Path], input: &str) -> Result<Gathered, ManifestErrors> {
        let args = InputArgs {
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
            ..InputArgs::default()
        };
        gather(&args, StandardInput { reader: &mut input.as_bytes(), is_terminal: false })
    }

    /// Returns what `warn` prints, with `x` for the folder.
    fn said(gathered: &Gathered, folder: &Path) -> String {
        let mut text = Vec::new();
        gathered.warn("test", &mut text);
        String::from_utf8(text).unwrap().replace(&folder.display().to_string(), "x")
    }

    #[test]
    fn what_is_named_and_has_no_part_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("empty")).unwrap();
        std::fs::create_dir_all(root.join("full")).unwrap();
        std::fs::write(root.join("full/a.yaml"), "kind: A").unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(root.join("full/b.yaml")).status();
        assert!(pipe.unwrap().success());
        let found = gathered(&[&root.join("empty"), &root.join("full")], "").unwrap();
        assert_eq!(
            said(&found, root),
            "webtroller test: warning: skipped x/full/b.yaml: is a pipe, a socket or a device; name it by itself to \
             read it\nwebtroller test: warning: x/empty holds no object\n"
        );
        let found = gathered(&[&root.join("full/a.yaml"), Path::new("-")], "---\n").unwrap();
        assert_eq!(said(&found, root), "webtroller test: warning: standard input holds no object\n");
        assert_eq!(said(&gathered(&[&root.join("full/a.yaml")], "").unwrap(), root), "");
    }

    #[test]
    fn nothing_at_all_is_an_error_that_names_what_was_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let errors = gathered(&[folder.path()], "").unwrap_err();
        let text = errors.to_string().replace(&folder.path().display().to_string(), "x");
        assert_eq!(text, "no input: x holds no object; standard input holds no object");
        let errors = gathered(&[], "").unwrap_err();
        assert!(errors.to_string().contains("name files or folders"), "{errors}");
    }
}
