//! Signatures of plug-ins: Ed25519, over the digest of the manifest, kept in the layout beside it.
//!
//! A signature is a manifest of its own, as referrers of OCI are: its `subject` is the manifest that was signed, its layer the 64
//! bytes. Who may sign is decided by the controller's configuration, and never by the layout.

use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::{Layout, LayoutError};

const SIGNATURE: &str = "application/vnd.webtroller.plug-in.signature.ed25519";

/// The public keys of those who may sign plug-ins.
#[derive(Clone, Debug, Default)]
pub struct Trust(Vec<Vec<u8>>);

/// A private key, for demos and tests; it ends with the process.
pub struct Signer(Ed25519KeyPair);

// === impl Signer ===

impl Signer {
    /// A new key.
    ///
    /// # Errors
    ///
    /// When the machine has no randomness.
    pub fn generate() -> std::io::Result<Self> {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let key = key.map_err(|_| std::io::Error::other("the machine has no randomness"))?;
        Ed25519KeyPair::from_pkcs8(key.as_ref())
            .map(Self)
            .map_err(|error| std::io::Error::other(error.to_string()))
    }

    /// The public key, 32 bytes.
    #[must_use]
    pub fn public(&self) -> Vec<u8> {
        self.0.public_key().as_ref().to_vec()
    }

    /// Signs a plug-in, and adds the signature to the layout.
    ///
    /// # Errors
    ///
    /// When the files cannot be written.
    pub fn sign(&self, layout: &Layout, manifest: &str) -> std::io::Result<()> {
        let signature = layout.store(self.0.sign(manifest.as_bytes()).as_ref())?;
        layout.add_manifest(&json!({
            "schemaVersion": 2, "artifactType": SIGNATURE, "config": layout.empty()?,
            "subject": {"digest": manifest}, "layers": [{"mediaType": SIGNATURE, "digest": signature, "size": 64}],
        }))?;
        Ok(())
    }
}

// === impl Trust ===

impl Trust {
    /// Trusts these keys, of 32 bytes each. Without a key nothing is trusted.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// The module of a plug-in that one of the keys has signed.
    ///
    /// # Errors
    ///
    /// When none has, or as [`Layout::module`].
    pub fn module(&self, layout: &Layout, manifest: &str) -> Result<Vec<u8>, LayoutError> {
        if Layout::hex(manifest).is_none() {
            return Err(LayoutError::Digest(manifest.to_owned()));
        }
        let refused = |reason| LayoutError::Signature { digest: manifest.to_owned(), reason };
        let mut signatures = signatures(layout, manifest)?.into_iter().peekable();
        if signatures.peek().is_none() {
            return Err(refused("is not signed"));
        }
        let is_trusted = |signature: Vec<u8>| {
            let verifies =
                |key: &Vec<u8>| UnparsedPublicKey::new(&ED25519, key).verify(manifest.as_bytes(), &signature);
            self.0.iter().any(|key| verifies(key).is_ok())
        };
        if !signatures.any(is_trusted) {
            return Err(refused("has no signature of a trusted key"));
        }
        layout.module(manifest)
    }
}

/// All signatures that claim to be of this plug-in. One that cannot be read is none, so that no one can block a plug-in by adding
/// a bad one.
fn signatures(layout: &Layout, plug_in: &str) -> Result<Vec<Vec<u8>>, LayoutError> {
    let signature = |digest: String| {
        let manifest: Value = serde_json::from_slice(&layout.blob(&digest).ok()?).ok()?;
        let is_of = manifest.pointer("/subject/digest")?.as_str()? == plug_in;
        let is_signature = manifest.get("artifactType")?.as_str()? == SIGNATURE;
        let layer = manifest.pointer("/layers/0/digest")?.as_str()?;
        (is_of && is_signature).then(|| layout.blob(layer).ok()).flatten()
    };
    Ok(layout.manifests()?.into_iter().filter_map(signature).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plug_in_that_a_trusted_key_has_signed_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let (ours, other) = (Signer::generate().unwrap(), Signer::generate().unwrap());
        let trust = Trust::new([ours.public()]);
        let (one, two) = (layout.add(b"one").unwrap(), layout.add(b"two").unwrap());
        let reason = |digest: &str| trust.module(&layout, digest).unwrap_err().to_string();
        assert!(reason(&one).contains("is not signed"), "{}", reason(&one));
        for digest in ["sha256:../../etc/passwd", "latest", ""] {
            assert!(reason(digest).contains(" is not a digest"), "{digest}: {}", reason(digest));
        }

        other.sign(&layout, &one).unwrap();
        assert!(reason(&one).contains("no signature of a trusted key"), "{}", reason(&one));

        // A signature of one plug-in does not serve for another.
        ours.sign(&layout, &two).unwrap();
        assert!(reason(&one).contains("no signature of a trusted key"), "{}", reason(&one));
        assert_eq!(trust.module(&layout, &two).unwrap(), b"two");

        ours.sign(&layout, &one).unwrap();
        assert_eq!(trust.module(&layout, &one).unwrap(), b"one");
        assert!(Trust::default().module(&layout, &one).is_err(), "without a key nothing is trusted");
    }

    #[test]
    fn a_signature_that_was_moved_to_another_plug_in_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let signer = Signer::generate().unwrap();
        let (good, evil) = (layout.add(b"good").unwrap(), layout.add(b"evil").unwrap());
        let signature = layout.store(signer.0.sign(good.as_bytes()).as_ref()).unwrap();
        let moved = json!({"artifactType": SIGNATURE, "subject": {"digest": evil}, "layers": [{"digest": signature}]});
        layout.add_manifest(&moved).unwrap();
        assert!(Trust::new([signer.public()]).module(&layout, &evil).is_err());
    }
}
