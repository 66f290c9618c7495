//! Policies in an OCI image layout: a folder as `oras copy --to-oci-layout` and `skopeo copy docker://… oci:…` write it.
//!
//! Layers are tar archives, or single files as `oras push` makes them. Nothing is unpacked to a disk, and every blob is
//! checked against its digest. Registries are not asked: that takes credentials, and tools that have them.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::load::{Manifest, is_manifest, load_reader};

/// The most that is read of one image, uncompressed. Policies are text.
const MOST: u64 = 256 << 20;
/// The most indexes in a row.
const DEEPEST: usize = 8;
const REFERENCE: &str = "org.opencontainers.image.ref.name";
const TITLE: &str = "org.opencontainers.image.title";

/// Why an image gave no manifests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Not a folder with an image layout.
    #[error(
        "{0}: is not an OCI image layout: images are read from folders; fetch one from a registry with `oras copy --to-oci-layout {0} DIR`"
    )]
    NotALayout(String),
    /// A part of it cannot be used.
    #[error("{image}: {reason}")]
    Broken {
        /// The image.
        image: String,
        /// What is wrong.
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
    annotations: std::collections::BTreeMap<String, String>,
}

/// Reads the manifests of an image: a folder, and behind a colon the tag where the layout has several images.
///
/// # Errors
/// See [`ImageError`].
pub(crate) fn load_image(image: &str) -> Result<Vec<Manifest>, ImageError> {
    let image = image.strip_prefix("oci:").unwrap_or(image);
    let (folder, tag) = match image.rsplit_once(':') {
        Some((folder, tag)) if !Path::new(image).is_dir() => (folder, Some(tag)),
        _ => (image, None),
    };
    if !Path::new(folder).join("oci-layout").is_file() {
        return Err(ImageError::NotALayout(image.to_owned()));
    }
    let layout = Layout { folder: folder.into(), left: MOST };
    layout.manifests(tag).map_err(|reason| ImageError::Broken { image: image.to_owned(), reason })
}

struct Layout {
    folder: PathBuf,
    /// How much may still be read.
    left: u64,
}

impl Layout {
    fn manifests(mut self, tag: Option<&str>) -> Result<Vec<Manifest>, String> {
        let index =
            std::fs::read(self.folder.join("index.json")).map_err(|error| format!("index.json: {error}"))?;
        let mut index: Index = decode("index.json", &index)?;
        let named = |entry: &Descriptor| {
            tag.is_none_or(|tag| entry.annotations.get(REFERENCE).is_some_and(|name| name == tag))
        };
        index.manifests.retain(named);
        for _ in 0..DEEPEST {
            if !index.layers.is_empty() {
                return index
                    .layers
                    .iter()
                    .map(|layer| self.layer(layer))
                    .collect::<Result<Vec<_>, _>>()
                    .map(|found| found.concat());
            }
            let [entry] = index.manifests.as_slice() else {
                let tags: Vec<_> = index
                    .manifests
                    .iter()
                    .filter_map(|entry| entry.annotations.get(REFERENCE))
                    .cloned()
                    .collect();
                return Err(format!(
                    "holds {} images: name one of the tags {} behind a colon",
                    index.manifests.len(),
                    tags.join(", ")
                ));
            };
            index = decode(&entry.digest, &self.blob(&entry.digest)?)?;
        }
        Err("its indexes are nested too deeply".to_owned())
    }

    /// A blob with the digest that it was named by.
    fn blob(&mut self, digest: &str) -> Result<Vec<u8>, String> {
        let hex =
            digest.strip_prefix("sha256:").filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let hex = hex.ok_or_else(|| format!("{digest}: not a digest of sha256"))?;
        let file = std::fs::File::open(self.folder.join("blobs/sha256").join(hex));
        let content = self.read(&mut file.map_err(|error| format!("{digest}: {error}"))?)?;
        let found: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        if found == hex {
            Ok(content)
        } else {
            Err(format!("{digest}: its content has the digest sha256:{found}"))
        }
    }

    fn read(&mut self, reader: &mut dyn Read) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        let read = reader.take(self.left).read_to_end(&mut content).map_err(|error| error.to_string())?;
        self.left = self.left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        if self.left == 0 { Err(format!("holds more than {} MiB", MOST >> 20)) } else { Ok(content) }
    }

    fn layer(&mut self, layer: &Descriptor) -> Result<Vec<Manifest>, String> {
        let mut content = self.blob(&layer.digest)?;
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
        load_reader(&self.folder.join(path), content).map_err(|error| error.to_string())
    }
}

fn decode<T: serde::de::DeserializeOwned>(name: &str, content: &[u8]) -> Result<T, String> {
    serde_json::from_slice(content).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;

    fn put(folder: &Path, content: &[u8]) -> String {
        let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        std::fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
        std::fs::write(folder.join("blobs/sha256").join(&hex), content).unwrap();
        format!("sha256:{hex}")
    }

    fn archive() -> Vec<u8> {
        let mut archive =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (name, text) in [("templates/a.yaml", "kind: A\n"), ("README.md", "no manifest")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len().try_into().unwrap());
            header.set_cksum();
            archive.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        let mut gzip = archive.into_inner().unwrap();
        gzip.flush().unwrap();
        gzip.finish().unwrap()
    }

    /// A layout with one image `v1` of an archive and a single file.
    fn layout() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let layers = json!([
            {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": put(folder.path(), &archive())},
            {"mediaType": "text/yaml", "digest": put(folder.path(), b"kind: B\n"), "annotations": {TITLE: "b.yaml"}},
        ]);
        let manifest = put(folder.path(), json!({ "layers": layers }).to_string().as_bytes());
        let index = json!({"manifests": [{"digest": manifest, "annotations": {REFERENCE: "v1"}}]});
        std::fs::write(folder.path().join("index.json"), index.to_string()).unwrap();
        std::fs::write(folder.path().join("oci-layout"), "{}").unwrap();
        folder
    }

    #[test]
    fn archives_and_files_of_a_layout_are_read() {
        let folder = layout();
        let name = folder.path().display().to_string();
        for image in [name.clone(), format!("oci:{name}"), format!("{name}:v1")] {
            let manifests = load_image(&image).unwrap();
            let kinds: Vec<_> =
                manifests.iter().map(|manifest| manifest.object["kind"].as_str().unwrap()).collect();
            assert_eq!(kinds, ["A", "B"], "{image}");
            assert!(manifests[0].path.ends_with("templates/a.yaml"));
        }
        assert!(load_image(&format!("{name}:v2")).unwrap_err().to_string().contains("holds 0 images"));
    }

    #[test]
    fn a_blob_with_another_digest_is_refused() {
        let folder = layout();
        for blob in std::fs::read_dir(folder.path().join("blobs/sha256")).unwrap() {
            let path = blob.unwrap().path();
            if std::fs::read(&path).unwrap() == b"kind: B\n" {
                std::fs::write(&path, "kind: C\n").unwrap();
            }
        }
        let error = load_image(&folder.path().display().to_string()).unwrap_err().to_string();
        assert!(error.contains("its content has the digest"), "{error}");
    }

    #[test]
    fn a_reference_to_a_registry_says_what_to_do() {
        let error = load_image("example.com/policies:v1").unwrap_err().to_string();
        assert!(error.contains("oras copy --to-oci-layout example.com/policies:v1 DIR"), "{error}");
    }
}
