//! Policies in an OCI image: in a registry, or in a folder with an image layout as `oras copy --to-oci-layout` and
//! `skopeo copy docker://… oci:…` write it.
//!
//! Layers are tar archives, or single files as `oras push` makes them. Nothing is unpacked to a disk, and every blob is
//! checked against its digest.

mod layout;
mod registry;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use super::load::{is_manifest, load_reader};
use super::manifest::Manifest;

use layout::Layout;
use registry::Registry;

/// The bounds of reading one image.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Compressed and uncompressed together. Policies are text.
    bytes: u64,
    /// Until a connection to a registry stands.
    connect: Duration,
    /// Between two pieces of a registry's answer.
    silence: Duration,
    /// For all requests to a registry together.
    total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { bytes: 256 << 20, connect: seconds(10), silence: seconds(30), total: seconds(300) }
    }
}

/// The most indexes in a row.
const DEEPEST: usize = 8;
const TOO_LARGE: &str = "holds more than 256 MiB";
const REFERENCE: &str = "org.opencontainers.image.ref.name";
/// The beginning of what zstd compressed.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const TITLE: &str = "org.opencontainers.image.title";

/// The reason why an image gave no manifests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Neither a folder with an image layout nor an image in a registry.
    #[error(
        "{0}: is not an image: neither a folder with an OCI image layout, nor REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST"
    )]
    NotAnImage(String),
    /// A part of it cannot be used.
    #[error("{image}: {reason}")]
    Broken {
        /// The image.
        image: String,
        /// The error.
        reason: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Index {
    manifests: Vec<Descriptor>,
    layers: Vec<Descriptor>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Descriptor {
    media_type: String,
    digest: String,
    annotations: BTreeMap<String, String>,
}

/// Location of an image.
trait Store {
    /// The index or the manifest that the image was named by.
    fn root(&mut self) -> Result<Vec<u8>, String>;

    /// An index or a manifest, of the digest that it was named by.
    fn manifest(&mut self, digest: &str) -> Result<Vec<u8>, String>;

    /// A layer, of the digest that it was named by and of less than `most` bytes.
    fn layer(&mut self, digest: &str, most: u64) -> Result<Vec<u8>, String>;
}

/// Reads the manifests of an image: a folder, and behind a colon the tag where the layout has several images; or the
/// reference of an image in a registry.
///
/// # Errors
/// See [`ImageError`].
pub(crate) fn load_image(image: &str) -> Result<Vec<Manifest>, ImageError> {
    load_within(image, Limits::default(), registry::docker_config().as_deref())
}

fn load_within(image: &str, limits: Limits, config: Option<&Path>) -> Result<Vec<Manifest>, ImageError> {
    let not_an_image = || ImageError::NotAnImage(image.to_owned());
    if let Some((mut layout, tag)) = Layout::open(image) {
        let reading = Reading { root: layout.folder().to_owned(), left: limits.bytes };
        return reading.manifests(&mut layout, tag.as_deref()).map_err(|reason| broken(image, reason));
    }
    let reference = registry::reference(image).ok_or_else(not_an_image)?;
    let reading = Reading { root: image.into(), left: limits.bytes };
    // On a thread of its own: callers may be in an async runtime, where another one must not be blocked on.
    let read = || reading.manifests(&mut Registry::new(reference, limits, config)?, None);
    let read = thread::scope(|scope| scope.spawn(read).join());
    read.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|reason| broken(image, reason))
}

fn broken(image: &str, reason: String) -> ImageError {
    ImageError::Broken { image: image.to_owned(), reason }
}

struct Reading {
    /// The folder in which files are said to be.
    root: PathBuf,
    /// The number of bytes that may still be read.
    left: u64,
}

impl Reading {
    fn manifests(mut self, store: &mut dyn Store, tag: Option<&str>) -> Result<Vec<Manifest>, String> {
        let mut index: Index = decode("its index", &store.root()?)?;
        let all = names(&index.manifests);
        let named = |entry: &Descriptor| {
            tag.is_none_or(|tag| entry.annotations.get(REFERENCE).is_some_and(|name| name == tag))
        };
        index.manifests.retain(named);
        if let (Some(tag), true) = (tag, index.manifests.is_empty() && !all.is_empty()) {
            return Err(format!("holds no image {tag}, only {all}"));
        }
        for _ in 0..DEEPEST {
            if !index.layers.is_empty() {
                let mut found = Vec::new();
                for layer in &index.layers {
                    found.extend(self.layer(store, layer)?);
                }
                return Ok(found);
            }
            let entry = match index.manifests.as_slice() {
                [entry] => entry,
                [] => return Err("holds no image with layers".to_owned()),
                several => return Err(ambiguous(several)),
            };
            index = decode(&entry.digest, &store.manifest(&entry.digest)?)?;
        }
        Err("its indexes are nested too deeply".to_owned())
    }

    fn read(&mut self, reader: &mut dyn Read) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        let read = reader.take(self.left).read_to_end(&mut content).map_err(|error| error.to_string())?;
        self.take(read)?;
        Ok(content)
    }

    fn take(&mut self, read: usize) -> Result<(), String> {
        self.left = self.left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        if self.left == 0 { Err(TOO_LARGE.to_owned()) } else { Ok(()) }
    }

    fn layer(&mut self, store: &mut dyn Store, layer: &Descriptor) -> Result<Vec<Manifest>, String> {
        let mut content = store.layer(&layer.digest, self.left)?;
        self.take(content.len())?;
        if content.starts_with(ZSTD) {
            return Err(format!("{}: is compressed with zstd; only gzip is supported", layer.digest));
        }
        if content.starts_with(&[0x1f, 0x8b]) {
            content = self.read(&mut MultiGzDecoder::new(content.as_slice()))?;
        }
        let title = layer.annotations.get(TITLE).map(PathBuf::from);
        let is_archive = layer.media_type.contains("tar") || title.is_none();
        if let (false, Some(title)) = (is_archive, &title) {
            return self.file(title, &mut content.as_slice());
        }
        let mut found = Vec::new();
        let mut archive = tar::Archive::new(content.as_slice());
        for entry in archive.entries().map_err(|error| error.to_string())? {
            let mut entry = entry.map_err(|error| format!("{}: {error}", layer.digest))?;
            let path = entry.path().map_err(|error| error.to_string())?.into_owned();
            if entry.header().entry_type().is_file() {
                found.extend(self.file(&path, &mut entry)?);
            }
        }
        Ok(found)
    }

    fn file(&self, path: &Path, content: &mut dyn Read) -> Result<Vec<Manifest>, String> {
        if !is_manifest(path) {
            return Ok(Vec::new());
        }
        load_reader(&self.root.join(path), content).map_err(|error| error.to_string())
    }
}

fn ambiguous(entries: &[Descriptor]) -> String {
    format!("holds {} images: name one of {}", entries.len(), names(entries))
}

/// The tags of images, or the digests of those without one.
fn names(entries: &[Descriptor]) -> String {
    let name = |entry: &Descriptor| entry.annotations.get(REFERENCE).unwrap_or(&entry.digest).clone();
    entries.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The digits of a digest. They become part of a path: nothing but digits passes.
fn hex(digest: &str) -> Result<&str, String> {
    let digits = digest.strip_prefix("sha256:");
    let digits = digits.filter(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits.ok_or_else(|| format!("{digest}: not a digest of sha256"))
}

fn decode<T: serde::de::DeserializeOwned>(name: &str, content: &[u8]) -> Result<T, String> {
    serde_json::from_slice(content).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
#[allow(dead_code, reason = "shared with tests/parity, which asks it with TLS")]
mod test_registry;
#[cfg(test)]
mod tests;
