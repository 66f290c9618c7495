//! Layouts in folders. Images in registries are tested with `registry`.

use std::io::Write;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;

fn put(folder: &Path, content: &[u8]) -> String {
    let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    std::fs::write(folder.join("blobs/sha256").join(&hex), content).unwrap();
    format!("sha256:{hex}")
}

pub(super) fn archive() -> Vec<u8> {
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
    let error = load_image(&format!("{name}:v2")).unwrap_err().to_string();
    assert!(error.ends_with("holds no image v2, only v1"), "{error}");
}

/// The error about a layout whose image has these layers.
fn refusal(layers: &[&[u8]]) -> String {
    let folder = layout();
    let layer = |content: &&[u8]| json!({"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": put(folder.path(), content)});
    let layers: Vec<_> = layers.iter().map(layer).collect();
    let manifest = put(folder.path(), json!({ "layers": layers }).to_string().as_bytes());
    let index = json!({"manifests": [{"digest": manifest}]});
    std::fs::write(folder.path().join("index.json"), index.to_string()).unwrap();
    load_image(&folder.path().display().to_string()).unwrap_err().to_string()
}

#[test]
fn what_an_image_lacks_is_named() {
    assert!(refusal(&[]).ends_with("holds no image with layers"));
    let error = refusal(&[b"\x28\xb5\x2f\xfdx"]);
    assert!(error.ends_with("is compressed with zstd; only gzip is supported"), "{error}");
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
fn a_name_that_is_no_image_says_what_one_is() {
    let error = load_image("policies").unwrap_err().to_string();
    assert!(error.contains("nor REGISTRY/NAME:TAG"), "{error}");
}
