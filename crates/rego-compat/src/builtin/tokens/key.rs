//! Public keys for signatures: from a certificate or public key in PEM, or from JSON web keys.

use crate::value::Value;
use p521::ecdsa::signature::Verifier;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo, X509Certificate};
use x509_parser::public_key::PublicKey;

use super::algorithm::{Algorithm, Family, Hash};
use super::field;
use crate::builtin::encoding::from_base64url;
use crate::builtin::operand::CallError;

/// A key with what its set says about it.
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Option<Algorithm>,
    material: Material,
}

enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point, whose length determines the curve.
    Elliptic(Vec<u8>),
    Edwards(Vec<u8>),
    /// A kind of key that no algorithm here verifies with.
    Other,
}

/// Returns the keys in a text: one of a PEM block, or those of a JWK or JWK set that have a known algorithm or none.
pub(super) fn parse(text: &str) -> Result<Vec<Key>, CallError> {
    if !text.contains("-----BEGIN") {
        return json_keys(text);
    }
    let (rest, pem) = parse_x509_pem(text.as_bytes()).map_err(|_| CallError::Failed)?;
    if !rest.trim_ascii().is_empty() {
        return Err(CallError::Failed);
    }
    let material = match pem.label.as_str() {
        "CERTIFICATE" => {
            let parsed = X509Certificate::from_der(&pem.contents);
            let (_, certificate) = parsed.map_err(|_| CallError::Failed)?;
            of_info(certificate.public_key())
        }
        "PUBLIC KEY" => {
            let parsed = SubjectPublicKeyInfo::from_der(&pem.contents);
            let (_, info) = parsed.map_err(|_| CallError::Failed)?;
            of_info(&info)
        }
        _ => return Err(CallError::Failed),
    };
    Ok(vec![Key { id: None, algorithm: None, material }])
}

fn of_info(info: &SubjectPublicKeyInfo<'_>) -> Material {
    const ED25519: &str = "1.3.101.112";
    if info.algorithm.algorithm.to_id_string() == ED25519 {
        return Material::Edwards(info.subject_public_key.data.to_vec());
    }
    match info.parsed() {
        Ok(PublicKey::RSA(key)) => {
            Material::Rsa { modulus: unsigned(key.modulus), exponent: unsigned(key.exponent) }
        }
        Ok(PublicKey::EC(point)) => Material::Elliptic(point.data().to_vec()),
        _ => Material::Other,
    }
}

/// Returns big-endian bytes without leading zeros.
fn unsigned(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().skip_while(|byte| *byte == 0).collect()
}

fn json_keys(text: &str) -> Result<Vec<Key>, CallError> {
    let document = Value::from_json_str(text).map_err(|_| CallError::Failed)?;
    let list = match field(&document, "keys") {
        Some(Value::Array(keys)) => keys.to_vec(),
        Some(_) => return Err(CallError::Failed),
        None => vec![document],
    };
    let mut keys = Vec::new();
    for jwk in &list {
        let text =
            |name| field(jwk, name).and_then(|value| value.as_string().ok()).map(|text| text.to_string());
        let material = of_jwk(jwk).ok_or(CallError::Failed)?;
        let algorithm = match text("alg").as_deref() {
            None | Some("") => None,
            Some(name) => match Algorithm::named(name) {
                Some(known) => Some(known),
                None => continue,
            },
        };
        keys.push(Key { id: text("kid"), algorithm, material });
    }
    Ok(keys)
}

fn of_jwk(jwk: &Value) -> Option<Material> {
    let text = |name| field(jwk, name).and_then(|value| value.as_string().ok());
    let bytes = |name| from_base64url(text(name)?).ok();
    if text("d").is_some() {
        // A private key verifies nothing, to OPA.
        return Some(Material::Other);
    }
    match &**text("kty")? {
        "RSA" => Some(Material::Rsa { modulus: unsigned(&bytes("n")?), exponent: unsigned(&bytes("e")?) }),
        "EC" => {
            let width = match &**text("crv")? {
                "P-256" => 32,
                "P-384" => 48,
                "P-521" => 66,
                _ => return None,
            };
            let (x, y) = (padded(&bytes("x")?, width), padded(&bytes("y")?, width));
            Some(Material::Elliptic([vec![4], x, y].concat()))
        }
        "OKP" if text("crv").is_some_and(|curve| **curve == *"Ed25519") => {
            Some(Material::Edwards(bytes("x")?))
        }
        "oct" => bytes("k").map(|_| Material::Other),
        _ => None,
    }
}

fn padded(bytes: &[u8], width: usize) -> Vec<u8> {
    let zeros = std::iter::repeat_n(0, width.saturating_sub(bytes.len()));
    zeros.chain(bytes.iter().copied()).collect()
}

impl Key {
    /// Returns true if a signature is this key's under an algorithm; a key of another kind never made one.
    pub(super) fn verifies(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let Algorithm { family, hash } = algorithm;
        match (&self.material, family) {
            (Material::Rsa { modulus, exponent }, Family::Pkcs1 | Family::Pss) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(rsa_parameters(family, hash), signed, signature).is_ok()
            }
            (Material::Elliptic(point), Family::Elliptic) => elliptic(point, hash, signed, signature),
            (Material::Edwards(point), Family::Edwards) => {
                UnparsedPublicKey::new(&signature::ED25519, point).verify(signed, signature).is_ok()
            }
            _ => false,
        }
    }
}

fn rsa_parameters(family: Family, hash: Hash) -> &'static signature::RsaParameters {
    match (family, hash) {
        (Family::Pss, Hash::Sha256) => &signature::RSA_PSS_2048_8192_SHA256,
        (Family::Pss, Hash::Sha384) => &signature::RSA_PSS_2048_8192_SHA384,
        (Family::Pss, Hash::Sha512) => &signature::RSA_PSS_2048_8192_SHA512,
        (_, Hash::Sha256) => &signature::RSA_PKCS1_2048_8192_SHA256,
        (_, Hash::Sha384) => &signature::RSA_PKCS1_2048_8192_SHA384,
        (_, Hash::Sha512) => &signature::RSA_PKCS1_2048_8192_SHA512,
    }
}

/// Reads the curve of a point from its length; tokens use each curve with one hash.
fn elliptic(point: &[u8], hash: Hash, signed: &[u8], signature: &[u8]) -> bool {
    let verified = |curve| UnparsedPublicKey::new(curve, point).verify(signed, signature).is_ok();
    match (point.len(), hash) {
        (65, Hash::Sha256) => verified(&signature::ECDSA_P256_SHA256_FIXED),
        (97, Hash::Sha384) => verified(&signature::ECDSA_P384_SHA384_FIXED),
        (133, Hash::Sha512) => {
            let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point);
            let signature = p521::ecdsa::Signature::from_slice(signature);
            matches!((key, signature), (Ok(key), Ok(signature)) if key.verify(signed, &signature).is_ok())
        }
        _ => false,
    }
}
