//! Public keys of certificates and requests.

use num_bigint::{BigInt, Sign};

use crate::value::Value;

use super::curve::Curve;
use super::der::{self, Reader};
use super::name::number;
use super::{base64, record};
use crate::builtin::operand::CallError;

/// A key, by its algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PublicKey {
    Rsa {
        modulus: BigInt,
        exponent: BigInt,
    },
    Dsa {
        parameters: [BigInt; 3],
        key: BigInt,
    },
    Elliptic(Curve, Vec<u8>),
    Edwards(Vec<u8>),
    /// Of an algorithm that is not read.
    Unknown,
}

/// A key, and what Go counts its algorithm as.
pub(super) struct SubjectKey {
    pub(super) algorithm: i64,
    pub(super) key: PublicKey,
}

impl SubjectKey {
    /// Reads the content of a subject's public key.
    pub(super) fn read(mut info: Reader<'_>) -> Result<Self, CallError> {
        let mut algorithm = info.read(der::SEQUENCE)?;
        let identifier = algorithm.identifier()?;
        let parameters = if algorithm.is_empty() { &[] } else { algorithm.any()?.raw };
        let bits = info.bits()?.right_aligned();
        let (algorithm, key) = match identifier.as_slice() {
            [1, 2, 840, 113_549, 1, 1, 1] => (1, rsa(parameters, &bits)?),
            [1, 2, 840, 10_040, 4, 1] => (2, dsa(parameters, &bits)?),
            [1, 2, 840, 10_045, 2, 1] => (3, elliptic(parameters, bits)?),
            [1, 3, 101, 112] if parameters.is_empty() && bits.len() == 32 => (4, PublicKey::Edwards(bits)),
            [1, 3, 101, 112] => return Err(CallError::Failed),
            _ => (0, PublicKey::Unknown),
        };
        Ok(Self { algorithm, key })
    }
}

fn rsa(parameters: &[u8], bits: &[u8]) -> Result<PublicKey, CallError> {
    if parameters != [5, 0] {
        return Err(CallError::Failed);
    }
    let mut key = Reader(bits).read(der::SEQUENCE)?;
    let (modulus, exponent) = (key.integer()?, key.integer()?);
    let fits = i64::try_from(&exponent).is_ok();
    if modulus.sign() != Sign::Plus || exponent.sign() != Sign::Plus || !fits {
        return Err(CallError::Failed);
    }
    Ok(PublicKey::Rsa { modulus, exponent })
}

fn dsa(parameters: &[u8], bits: &[u8]) -> Result<PublicKey, CallError> {
    let key = Reader(bits).integer()?;
    let mut read = Reader(parameters).read(der::SEQUENCE)?;
    let parameters = [read.integer()?, read.integer()?, read.integer()?];
    if parameters.iter().chain([&key]).any(|number| number.sign() != Sign::Plus) {
        return Err(CallError::Failed);
    }
    Ok(PublicKey::Dsa { parameters, key })
}

fn elliptic(parameters: &[u8], point: Vec<u8>) -> Result<PublicKey, CallError> {
    let curve = Curve::of(&Reader(parameters).identifier()?).ok_or(CallError::Failed)?;
    if !curve.has(&point) {
        return Err(CallError::Failed);
    }
    Ok(PublicKey::Elliptic(curve, point))
}

/// Returns the coordinates of an uncompressed point.
pub(super) fn coordinates(point: &[u8]) -> (&[u8], &[u8]) {
    let bytes = point.get(1..).unwrap_or_default();
    bytes.split_at_checked(bytes.len() / 2).unwrap_or((bytes, &[]))
}

pub(super) fn unsigned(bytes: &[u8]) -> BigInt {
    BigInt::from_bytes_be(Sign::Plus, bytes)
}

impl PublicKey {
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Rsa { modulus, exponent } => record(vec![("N", number(modulus)), ("E", number(exponent))]),
            Self::Dsa { parameters: [p, q, g], key } => {
                record(vec![("P", number(p)), ("Q", number(q)), ("G", number(g)), ("Y", number(key))])
            }
            Self::Elliptic(_, point) => {
                let (x, y) = coordinates(point);
                let (x, y) = (number(&unsigned(x)), number(&unsigned(y)));
                record(vec![("Curve", Value::new_object()), ("X", x), ("Y", y)])
            }
            Self::Edwards(bytes) => base64(bytes),
            Self::Unknown => Value::Null,
        }
    }
}
