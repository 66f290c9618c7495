//! The algorithms that certificates are signed with, and whether a signature is a key's.

use num_bigint::BigInt;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::der::{self, Reader};
use super::public_key::PublicKey;
use crate::builtin::operand::CallError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// An algorithm; those that Go does not verify with have only a name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rsa(Hash),
    Pss(Hash),
    Elliptic(Hash),
    Edwards,
    /// Go's number of it; zero is unknown.
    Other(i64),
}

const NULL: &[u8] = &[5, 0];

impl Algorithm {
    /// Reads the content of an algorithm's identifier.
    pub(super) fn read(mut reader: Reader<'_>) -> Result<Self, CallError> {
        let identifier = reader.identifier()?;
        let parameters = if reader.is_empty() { &[] } else { reader.any()?.raw };
        Ok(match identifier.as_slice() {
            [1, 2, 840, 113_549, 1, 1, last] => match last {
                4 => Self::Other(2),
                5 => Self::Other(3),
                11 => Self::Rsa(Hash::Sha256),
                12 => Self::Rsa(Hash::Sha384),
                13 => Self::Rsa(Hash::Sha512),
                10 => pss(parameters).map_or(Self::Other(0), Self::Pss),
                _ => Self::Other(0),
            },
            [1, 3, 14, 3, 2, 29] => Self::Other(3),
            [1, 2, 840, 10_040, 4, 3] => Self::Other(7),
            [2, 16, 840, 1, 101, 3, 4, 3, 2] => Self::Other(8),
            [1, 2, 840, 10_045, 4, 1] => Self::Other(9),
            [1, 2, 840, 10_045, 4, 3, 2] => Self::Elliptic(Hash::Sha256),
            [1, 2, 840, 10_045, 4, 3, 3] => Self::Elliptic(Hash::Sha384),
            [1, 2, 840, 10_045, 4, 3, 4] => Self::Elliptic(Hash::Sha512),
            [1, 3, 101, 112] if parameters.is_empty() => Self::Edwards,
            _ => Self::Other(0),
        })
    }

    /// Returns Go's number of the algorithm.
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Rsa(Hash::Sha256) => 4,
            Self::Rsa(Hash::Sha384) => 5,
            Self::Rsa(Hash::Sha512) => 6,
            Self::Elliptic(Hash::Sha256) => 10,
            Self::Elliptic(Hash::Sha384) => 11,
            Self::Elliptic(Hash::Sha512) => 12,
            Self::Pss(Hash::Sha256) => 13,
            Self::Pss(Hash::Sha384) => 14,
            Self::Pss(Hash::Sha512) => 15,
            Self::Edwards => 16,
            Self::Other(number) => number,
        }
    }

    /// Returns true if a signature is a key's, of what was signed.
    pub(super) fn verifies(self, key: &PublicKey, signed: &[u8], signature: &[u8]) -> bool {
        match (self, key) {
            (Self::Rsa(hash), PublicKey::Rsa { modulus, exponent }) => {
                rsa(modulus, exponent, pkcs1_parameters(modulus, hash), signed, signature)
            }
            (Self::Pss(hash), PublicKey::Rsa { modulus, exponent }) => {
                let parameters = match hash {
                    Hash::Sha256 => &signature::RSA_PSS_2048_8192_SHA256,
                    Hash::Sha384 => &signature::RSA_PSS_2048_8192_SHA384,
                    Hash::Sha512 => &signature::RSA_PSS_2048_8192_SHA512,
                };
                rsa(modulus, exponent, parameters, signed, signature)
            }
            (Self::Elliptic(hash), PublicKey::Elliptic(curve, point)) => {
                curve.verifies(point, &digest(hash, signed), signature)
            }
            (Self::Edwards, PublicKey::Edwards(point)) => {
                UnparsedPublicKey::new(&signature::ED25519, point).verify(signed, signature).is_ok()
            }
            _ => false,
        }
    }
}

/// Keys from 1024 bits on are taken, as in Go.
fn pkcs1_parameters(modulus: &BigInt, hash: Hash) -> &'static signature::RsaParameters {
    match hash {
        Hash::Sha256 if modulus.bits() < 2048 => &signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        Hash::Sha512 if modulus.bits() < 2048 => &signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        Hash::Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Hash::Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Hash::Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
    }
}

fn rsa(
    modulus: &BigInt,
    exponent: &BigInt,
    parameters: &'static signature::RsaParameters,
    signed: &[u8],
    signature: &[u8],
) -> bool {
    let (n, e) = (modulus.to_bytes_be().1, exponent.to_bytes_be().1);
    RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature).is_ok()
}

fn digest(hash: Hash, signed: &[u8]) -> Vec<u8> {
    match hash {
        Hash::Sha256 => Sha256::digest(signed).to_vec(),
        Hash::Sha384 => Sha384::digest(signed).to_vec(),
        Hash::Sha512 => Sha512::digest(signed).to_vec(),
    }
}

/// Returns the hash that all the parts of the parameters agree on.
fn pss(parameters: &[u8]) -> Option<Hash> {
    let mut list = Reader(parameters).read(der::SEQUENCE).ok()?;
    let algorithm = |reader: Option<Reader<'_>>| -> Option<(Vec<u32>, Vec<u8>)> {
        let mut content = reader?.read(der::SEQUENCE).ok()?;
        let identifier = content.identifier().ok()?;
        let parameters = if content.is_empty() { Vec::new() } else { content.any().ok()?.raw.to_vec() };
        Some((identifier, parameters))
    };
    let (hash, hash_parameters) = algorithm(list.optional(der::wrapped(0)).ok()?)?;
    let (mask, mask_parameters) = algorithm(list.optional(der::wrapped(1)).ok()?)?;
    let salt = list.optional(der::wrapped(2)).ok()??.small(der::INTEGER).ok()?;
    let trailer = match list.optional(der::wrapped(3)).ok()? {
        Some(mut trailer) => trailer.small(der::INTEGER).ok()?,
        None => 1,
    };
    let mut inner = Reader(&mask_parameters).read(der::SEQUENCE).ok()?;
    let inner_hash = inner.identifier().ok()?;
    let inner_parameters = if inner.is_empty() { &[] } else { inner.any().ok()?.raw };
    let none = |parameters: &[u8]| parameters.is_empty() || parameters == NULL;
    let agree = none(&hash_parameters)
        && mask == [1, 2, 840, 113_549, 1, 1, 8]
        && inner_hash == hash
        && none(inner_parameters)
        && trailer == 1;
    match (hash.as_slice(), salt) {
        ([2, 16, 840, 1, 101, 3, 4, 2, 1], 32) if agree => Some(Hash::Sha256),
        ([2, 16, 840, 1, 101, 3, 4, 2, 2], 48) if agree => Some(Hash::Sha384),
        ([2, 16, 840, 1, 101, 3, 4, 2, 3], 64) if agree => Some(Hash::Sha512),
        _ => None,
    }
}
