//! The elliptic curves that Go knows: points that are on them, public keys of private ones, and signatures.

use p224::NistP224;
use p256::NistP256;
use p384::NistP384;
use p521::NistP521;
use p521::ecdsa::signature::hazmat::PrehashVerifier;
use p521::elliptic_curve::SecretKey;
use p521::elliptic_curve::sec1::ToEncodedPoint;

/// A curve by the number of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Curve {
    P224,
    P256,
    P384,
    P521,
}

impl Curve {
    /// Returns the curve of an object identifier.
    pub(super) fn of(identifier: &[u32]) -> Option<Self> {
        match identifier {
            [1, 3, 132, 0, 33] => Some(Self::P224),
            [1, 2, 840, 10045, 3, 1, 7] => Some(Self::P256),
            [1, 3, 132, 0, 34] => Some(Self::P384),
            [1, 3, 132, 0, 35] => Some(Self::P521),
            _ => None,
        }
    }

    /// The bytes of a coordinate, and of a private key.
    pub(in super::super) const fn width(self) -> usize {
        match self {
            Self::P224 => 28,
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// Returns the curve's name in a JSON web key, if it has one there.
    pub(super) const fn web_name(self) -> Option<&'static str> {
        match self {
            Self::P224 => None,
            Self::P256 => Some("P-256"),
            Self::P384 => Some("P-384"),
            Self::P521 => Some("P-521"),
        }
    }

    /// Returns true if bytes are an uncompressed point on the curve.
    pub(super) fn has(self, point: &[u8]) -> bool {
        if point.first() != Some(&4) {
            return false;
        }
        match self {
            Self::P224 => p224::PublicKey::from_sec1_bytes(point).is_ok(),
            Self::P256 => p256::PublicKey::from_sec1_bytes(point).is_ok(),
            Self::P384 => p384::PublicKey::from_sec1_bytes(point).is_ok(),
            Self::P521 => p521::PublicKey::from_sec1_bytes(point).is_ok(),
        }
    }

    /// Returns the uncompressed point of a private key; none if that is zero or too large.
    pub(super) fn public(self, private: &[u8]) -> Option<Vec<u8>> {
        macro_rules! point {
            ($curve:ty) => {{
                let key = SecretKey::<$curve>::from_slice(private).ok()?;
                key.public_key().to_encoded_point(false).as_bytes().to_vec()
            }};
        }
        Some(match self {
            Self::P224 => point!(NistP224),
            Self::P256 => point!(NistP256),
            Self::P384 => point!(NistP384),
            Self::P521 => point!(NistP521),
        })
    }

    /// Returns true if a signature in DER is a point's, of a digest.
    pub(super) fn verifies(self, point: &[u8], digest: &[u8], signature: &[u8]) -> bool {
        // Shorter digests are numbers like any other.
        let zeros = std::iter::repeat_n(0, self.width().saturating_sub(digest.len()));
        let digest: Vec<u8> = zeros.chain(digest.iter().copied()).collect();
        macro_rules! verified {
            ($curve:ident) => {{
                let key = $curve::ecdsa::VerifyingKey::from_sec1_bytes(point);
                let signature = $curve::ecdsa::Signature::from_der(signature);
                matches!((key, signature), (Ok(key), Ok(signature)) if key.verify_prehash(&digest, &signature).is_ok())
            }};
        }
        match self {
            Self::P224 => verified!(p224),
            Self::P256 => verified!(p256),
            Self::P384 => verified!(p384),
            Self::P521 => verified!(p521),
        }
    }
}
