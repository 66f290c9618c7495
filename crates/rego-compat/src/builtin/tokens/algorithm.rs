//! The signature algorithms of tokens, by the names that headers and keys give them.

use hmac::Hmac;
use sha2::{Sha256, Sha384, Sha512};

use crate::builtin::crypto;

/// An algorithm such as `PS384`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Algorithm {
    pub(super) family: Family,
    pub(super) hash: Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// `HS*`: a shared secret.
    Secret,
    /// `RS*`.
    Pkcs1,
    /// `PS*`.
    Pss,
    /// `ES*`.
    Elliptic,
    /// `EdDSA`.
    Edwards,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// Returns the algorithm of a name that OPA knows.
    pub(super) fn named(name: &str) -> Option<Self> {
        if name == "EdDSA" {
            return Some(Self { family: Family::Edwards, hash: Hash::Sha512 });
        }
        let (family, hash) = name.split_at_checked(2)?;
        let family = match family {
            "HS" => Family::Secret,
            "RS" => Family::Pkcs1,
            "PS" => Family::Pss,
            "ES" => Family::Elliptic,
            _ => return None,
        };
        let hash = match hash {
            "256" => Hash::Sha256,
            "384" => Hash::Sha384,
            "512" => Hash::Sha512,
            _ => return None,
        };
        Some(Self { family, hash })
    }

    /// Returns true if a signature is a shared secret's.
    pub(super) fn secret_verifies(self, secret: &str, signed: &[u8], signature: &[u8]) -> bool {
        let authenticate = match self.hash {
            Hash::Sha256 => crypto::authenticate::<Hmac<Sha256>>,
            Hash::Sha384 => crypto::authenticate::<Hmac<Sha384>>,
            Hash::Sha512 => crypto::authenticate::<Hmac<Sha512>>,
        };
        let expected = authenticate(signed, secret.as_bytes()).filter(|_| self.family == Family::Secret);
        expected.is_some_and(|expected| crypto::same(&expected, signature))
    }
}
