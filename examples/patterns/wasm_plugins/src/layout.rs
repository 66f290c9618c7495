//! An OCI image layout: a folder of blobs that are named by their digests, as `oras copy --to-oci-layout` writes it.
//!
//! ```text
//! oci-layout                      {"imageLayoutVersion": "1.0.0"}
//! index.json                      {"manifests": [{"digest": "sha256:<manifest>"}, {"digest": "sha256:<signature>"}]}
//! blobs/sha256/<manifest>         {"layers": [{"mediaType": "application/wasm", "digest": "sha256:<module>"}]}
//! blobs/sha256/<module>           the module
//! blobs/sha256/<signature>        {"subject": {"digest": "sha256:<manifest>"}, "layers": [{"digest": "sha256:<64 bytes>"}]}
//! ```
//!
//! A plug-in is named by the digest of its manifest, so what runs is what was reviewed: every blob is hashed when it is read.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The media type of a module.
const WASM: &str = "application/wasm";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "index.json";
/// Modules of Go have a few megabytes.
const MODULE_BYTES: u64 = 32 << 20;

/// A folder with an OCI image layout.
#[derive(Clone, Debug)]
pub struct Layout(PathBuf);

/// The reason for which a plug-in cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Not `sha256:` and 64 hexadecimal digits.
    #[error("{0} is not a digest: write sha256: and 64 hexadecimal digits")]
    Digest(String),
    /// The blob cannot be read.
    #[error("blob {digest} cannot be read: {source}")]
    Read {
        /// The digest.
        digest: String,
        /// The error.
        source: std::io::Error,
    },
    /// The blob is larger than a plug-in may be.
    #[error("blob {digest} has {bytes} bytes, {MODULE_BYTES} are allowed")]
    TooLarge {
        /// The digest.
        digest: String,
        /// Its size.
        bytes: u64,
    },
    /// The content is not what the digest says.
    #[error("blob {digest} has the digest {found}: it was changed, refuse it")]
    Mismatch {
        /// The digest that was asked for.
        digest: String,
        /// The digest of the content.
        found: String,
    },
    /// No trusted key has signed the plug-in.
    #[error("{digest} {reason}")]
    Signature {
        /// The digest of the plug-in.
        digest: String,
        /// The reason.
        reason: &'static str,
    },
    /// The manifest is not one of a plug-in.
    #[error("manifest {digest} is not one of a plug-in: {reason}")]
    Manifest {
        /// The digest.
        digest: String,
        /// The reason.
        reason: String,
    },
}

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
}

// === impl Layout ===

impl Layout {
    /// The layout in a folder; nothing is read yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The module of the plug-in whose manifest has this digest.
    ///
    /// # Errors
    ///
    /// [`LayoutError`]: also when a blob is not what its digest says.
    pub fn module(&self, manifest: &str) -> Result<Vec<u8>, LayoutError> {
        let refused = |reason: String| LayoutError::Manifest { digest: manifest.to_owned(), reason };
        let text = self.blob(manifest)?;
        let parsed: Manifest = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
        let module = parsed.layers.iter().find(|layer| layer.media_type == WASM);
        self.blob(&module.ok_or_else(|| refused(format!("no layer is {WASM}")))?.digest)
    }

    /// The digests of all manifests that the index names; none when there is no index.
    ///
    /// # Errors
    ///
    /// When there is one that cannot be read.
    pub(crate) fn manifests(&self) -> Result<Vec<String>, LayoutError> {
        let entries = self.index()?.into_iter();
        Ok(entries.filter_map(|entry| entry.get("digest")?.as_str().map(str::to_owned)).collect())
    }

    fn index(&self) -> Result<Vec<Value>, LayoutError> {
        let unreadable = |source| LayoutError::Read { digest: INDEX.to_owned(), source };
        let text = match fs::read(self.0.join(INDEX)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(unreadable)?,
        };
        let mut index: Value = serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))?;
        let entries = index.get_mut("manifests").and_then(Value::as_array_mut).map(std::mem::take);
        entries.ok_or_else(|| unreadable(std::io::Error::other("it has no manifests")))
    }

    /// The digits of a digest. Nothing else: a digest from a user must not be a path.
    pub(crate) fn hex(digest: &str) -> Option<&str> {
        let hex = digest.strip_prefix("sha256:").filter(|hex| hex.len() == 64);
        hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)))
    }

    pub(crate) fn blob(&self, digest: &str) -> Result<Vec<u8>, LayoutError> {
        let hex = Self::hex(digest).ok_or_else(|| LayoutError::Digest(digest.to_owned()))?;
        let path = self.0.join("blobs/sha256").join(hex);
        let unreadable = |source| LayoutError::Read { digest: digest.to_owned(), source };
        let bytes = fs::metadata(&path).map_err(unreadable)?.len();
        if bytes > MODULE_BYTES {
            return Err(LayoutError::TooLarge { digest: digest.to_owned(), bytes });
        }
        let content = fs::read(&path).map_err(unreadable)?;
        let found = digest_of(&content);
        if found == digest {
            Ok(content)
        } else {
            Err(LayoutError::Mismatch { digest: digest.to_owned(), found })
        }
    }

    /// Adds a module with its manifest and returns the digest of the manifest; for demos and tests.
    ///
    /// # Errors
    ///
    /// When the files cannot be written.
    pub fn add(&self, module: &[u8]) -> std::io::Result<String> {
        let layer = json!({"mediaType": WASM, "digest": self.store(module)?, "size": module.len()});
        self.add_manifest(
            &json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": self.empty()?, "layers": [layer]}),
        )
    }

    /// The descriptor of an empty configuration.
    pub(crate) fn empty(&self) -> std::io::Result<Value> {
        Ok(json!({"mediaType": "application/vnd.oci.empty.v1+json", "digest": self.store(b"{}")?, "size": 2}))
    }

    /// Adds a blob and returns its digest.
    pub(crate) fn store(&self, content: &[u8]) -> std::io::Result<String> {
        fs::create_dir_all(self.0.join("blobs/sha256"))?;
        let digest = digest_of(content);
        self.write(&format!("blobs/sha256/{}", digest.trim_start_matches("sha256:")), content)?;
        Ok(digest)
    }

    /// Adds a manifest, to the index too, and returns its digest.
    pub(crate) fn add_manifest(&self, manifest: &Value) -> std::io::Result<String> {
        let manifest = manifest.to_string();
        let digest = self.store(manifest.as_bytes())?;
        let mut all = self.index().map_err(std::io::Error::other)?;
        all.push(json!({"mediaType": MANIFEST, "digest": digest, "size": manifest.len()}));
        self.write("oci-layout", br#"{"imageLayoutVersion": "1.0.0"}"#)?;
        self.write(INDEX, json!({"schemaVersion": 2, "manifests": all}).to_string().as_bytes())?;
        Ok(digest)
    }

    /// Replaces a file at once: a controller reads while it is written.
    fn write(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let new = self.0.join("new");
        fs::write(&new, content)?;
        fs::rename(new, self.0.join(name))
    }
}

fn digest_of(content: &[u8]) -> String {
    let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_blob_is_refused_and_a_digest_is_not_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let digest = layout.add(b"module").unwrap();
        assert_eq!(layout.module(&digest).unwrap(), b"module");
        let module = digest_of(b"module");
        let blob = folder.path().join("blobs/sha256").join(module.trim_start_matches("sha256:"));
        fs::write(blob, b"other").unwrap();
        assert!(matches!(layout.module(&digest), Err(LayoutError::Mismatch { .. })));
        for path in ["sha256:../../oci-layout", "latest", "sha256:"] {
            assert!(matches!(layout.module(path), Err(LayoutError::Digest(_))), "{path}");
        }
    }
}
