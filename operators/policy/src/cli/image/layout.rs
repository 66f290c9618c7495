//! A folder with an OCI image layout.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::{Store, TOO_LARGE, hex};

/// The most bytes of an index or a manifest.
const MANIFEST: u64 = 4 << 20;

/// The folder of an image layout.
pub(super) struct Layout(PathBuf);

impl Layout {
    /// The layout that a name stands for, and the tag in it; `None` if there is none.
    pub(super) fn open(name: &str) -> Option<(Self, Option<String>)> {
        // A folder may be called `oci` itself.
        Self::at(name).or_else(|| Self::at(name.strip_prefix("oci:")?))
    }

    fn at(name: &str) -> Option<(Self, Option<String>)> {
        let (folder, tag) = match name.rsplit_once(':') {
            Some((folder, tag)) if !Path::new(name).is_dir() => (folder, Some(tag.to_owned())),
            _ => (name, None),
        };
        let is_layout = Path::new(folder).join("oci-layout").is_file();
        is_layout.then(|| (Self(folder.into()), tag))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Store for Layout {
    fn root(&mut self) -> Result<Vec<u8>, String> {
        std::fs::read(self.0.join("index.json")).map_err(|error| format!("index.json: {error}"))
    }

    fn manifest(&mut self, digest: &str) -> Result<Vec<u8>, String> {
        self.layer(digest, MANIFEST)
    }

    fn layer(&mut self, digest: &str, most: u64) -> Result<Vec<u8>, String> {
        let hex = hex(digest)?;
        let file = self.0.join("blobs/sha256").join(hex);
        let unread = |error| format!("{digest}: {error}");
        if file.metadata().map_err(unread)?.len() >= most {
            return Err(TOO_LARGE.to_owned());
        }
        let content = std::fs::read(&file).map_err(unread)?;
        let found = HEXLOWER.encode(&Sha256::digest(&content));
        if found == hex {
            Ok(content)
        } else {
            Err(format!("{digest}: its content has the digest sha256:{found}"))
        }
    }
}
