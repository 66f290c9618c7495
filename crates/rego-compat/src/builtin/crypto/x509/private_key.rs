//! Private keys, in the structures that Go reads, and as JSON web keys.

use data_encoding::BASE64URL_NOPAD;
use num_bigint::{BigInt, Sign};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::value::Value;

use super::curve::Curve;
use super::der::{self, Reader};
use super::name::number;
use super::public_key::{PublicKey, coordinates, unsigned};
use super::{base64, record};
use crate::builtin::operand::CallError;

/// A key with its public part.
pub(super) enum PrivateKey {
    Rsa(Box<Rsa>),
    Elliptic {
        curve: Curve,
        secret: Vec<u8>,
        point: Vec<u8>,
    },
    Edwards {
        seed: Vec<u8>,
        point: Vec<u8>,
    },
    /// X25519, whose public part is not used.
    Montgomery,
}

/// The numbers of a key with two primes or more.
pub(super) struct Rsa {
    modulus: BigInt,
    exponent: BigInt,
    secret: BigInt,
    primes: Vec<BigInt>,
    /// Of the first two primes.
    remainders: [BigInt; 2],
    inverse: BigInt,
}

/// The modulus beyond which a key is not looked at: checking it takes too long.
const MOST_BITS: u64 = 8_192;

impl PrivateKey {
    /// Reads `RSA PRIVATE KEY` (PKCS #1).
    pub(super) fn pkcs1(raw: &[u8]) -> Result<Self, CallError> {
        let mut outer = Reader(raw);
        let mut list = outer.read(der::SEQUENCE)?;
        if !outer.is_empty() || list.small(der::INTEGER)? > 1 {
            return Err(CallError::Failed);
        }
        let (modulus, exponent, secret) = (list.integer()?, list.integer()?, list.integer()?);
        let mut primes = vec![list.integer()?, list.integer()?];
        let mut given = Vec::new();
        while given.len() < 3 && list.peeks(der::INTEGER) {
            given.push(list.integer()?);
        }
        let mut more = list.optional(der::SEQUENCE)?.unwrap_or(Reader(&[]));
        while !more.is_empty() {
            primes.push(more.read(der::SEQUENCE)?.integer()?);
        }
        Rsa::checked(modulus, exponent, secret, primes, &given)
            .map(|key| Self::Rsa(Box::new(key)))
            .ok_or(CallError::Failed)
    }

    /// Reads `PRIVATE KEY` (PKCS #8).
    pub(super) fn pkcs8(raw: &[u8]) -> Result<Self, CallError> {
        let mut list = Reader(raw).read(der::SEQUENCE)?;
        list.small(der::INTEGER)?;
        let mut algorithm = list.read(der::SEQUENCE)?;
        let identifier = algorithm.identifier()?;
        let parameters = if algorithm.is_empty() { &[] } else { algorithm.any()?.raw };
        let inner = list.read(der::OCTET_STRING)?.0;
        match identifier.as_slice() {
            [1, 2, 840, 113_549, 1, 1, 1] => Self::pkcs1(inner),
            [1, 2, 840, 10_045, 2, 1] => Self::elliptic(inner, Reader(parameters).identifier().ok()),
            [1, 3, 101, 112] if parameters.is_empty() => {
                let seed = Reader(inner).read(der::OCTET_STRING)?.0;
                let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| CallError::Failed)?;
                Ok(Self::Edwards { seed: seed.to_vec(), point: pair.public_key().as_ref().to_vec() })
            }
            [1, 3, 101, 110] if parameters.is_empty() => {
                let secret = Reader(inner).read(der::OCTET_STRING)?.0;
                if secret.len() == 32 { Ok(Self::Montgomery) } else { Err(CallError::Failed) }
            }
            _ => Err(CallError::Failed),
        }
    }

    /// Reads `EC PRIVATE KEY` (SEC 1).
    pub(super) fn sec1(raw: &[u8]) -> Result<Self, CallError> {
        Self::elliptic(raw, None)
    }

    fn elliptic(raw: &[u8], named: Option<Vec<u32>>) -> Result<Self, CallError> {
        let mut list = Reader(raw).read(der::SEQUENCE)?;
        if list.small(der::INTEGER)? != 1 {
            return Err(CallError::Failed);
        }
        let bytes = list.read(der::OCTET_STRING)?.0;
        let own =
            list.enters(der::wrapped(0), der::OBJECT_IDENTIFIER)?.then(|| list.identifier()).transpose()?;
        if list.enters(der::wrapped(1), der::BIT_STRING)? {
            list.bits()?;
        }
        let curve = named.or(own).and_then(|identifier| Curve::of(&identifier)).ok_or(CallError::Failed)?;
        // Zeros in front may be too many, or missing.
        let significant = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
        let significant = bytes.get(significant..).unwrap_or_default();
        let zeros = curve.width().checked_sub(significant.len()).ok_or(CallError::Failed)?;
        let secret: Vec<u8> = std::iter::repeat_n(0, zeros).chain(significant.iter().copied()).collect();
        let point = curve.public(&secret).ok_or(CallError::Failed)?;
        Ok(Self::Elliptic { curve, secret, point })
    }

    /// Returns a key in any of the structures.
    pub(super) fn any(raw: &[u8]) -> Result<Self, CallError> {
        Self::pkcs1(raw).or_else(|_| Self::pkcs8(raw)).or_else(|_| Self::sec1(raw))
    }

    pub(super) fn public(&self) -> PublicKey {
        match self {
            Self::Rsa(key) => PublicKey::Rsa { modulus: key.modulus.clone(), exponent: key.exponent.clone() },
            Self::Elliptic { curve, point, .. } => PublicKey::Elliptic(*curve, point.clone()),
            Self::Edwards { point, .. } => PublicKey::Edwards(point.clone()),
            Self::Montgomery => PublicKey::Unknown,
        }
    }

    /// Returns Go's structure as JSON.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Rsa(key) => key.to_value(),
            Self::Elliptic { secret, .. } => {
                let mut fields = self.public().to_value();
                if let Ok(fields) = fields.as_object_mut() {
                    fields.insert(Value::from("D"), number(&unsigned(secret)));
                }
                fields
            }
            Self::Edwards { seed, point } => base64(&[seed.as_slice(), point.as_slice()].concat()),
            Self::Montgomery => Value::new_object(),
        }
    }

    /// Returns the JSON web key.
    pub(super) fn to_web_key(&self) -> Result<Value, CallError> {
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let fields = match self {
            Self::Rsa(key) => key.web_fields(),
            Self::Elliptic { curve, secret, point } => {
                let name = curve.web_name().ok_or(CallError::Failed)?;
                let (x, y) = coordinates(point);
                let (x, y, d) = (text(x), text(y), text(secret));
                vec![("kty", "EC".to_owned()), ("crv", name.to_owned()), ("x", x), ("y", y), ("d", d)]
            }
            Self::Edwards { seed, point } => {
                let (kind, curve) = ("OKP".to_owned(), "Ed25519".to_owned());
                vec![("kty", kind), ("crv", curve), ("x", text(point)), ("d", text(seed))]
            }
            Self::Montgomery => return Err(CallError::Failed),
        };
        Ok(record(fields.into_iter().map(|(name, string)| (name, Value::from(string))).collect()))
    }
}

impl Rsa {
    /// Returns the numbers, if they are a key: as Go's validation has it.
    fn checked(
        modulus: BigInt,
        exponent: BigInt,
        secret: BigInt,
        primes: Vec<BigInt>,
        given: &[BigInt],
    ) -> Option<Self> {
        let one = BigInt::from(1u8);
        let positive = |number: &BigInt| number.sign() == Sign::Plus;
        let all = [&modulus, &secret].into_iter().chain(&primes).chain(given);
        if !all.into_iter().all(positive) || modulus.bits() > MOST_BITS || secret >= modulus {
            return None;
        }
        let sound = i64::try_from(&exponent)
            .is_ok_and(|exponent| exponent > 1 && exponent < 1 << 31 && exponent % 2 == 1);
        if !sound || primes.iter().any(|prime| *prime <= one) || primes.iter().product::<BigInt>() != modulus
        {
            return None;
        }
        let inverse_of = |prime: &BigInt| (&secret * &exponent) % (prime - &one) == one;
        if !primes.iter().all(inverse_of) {
            return None;
        }
        let [p, q, ..] = primes.as_slice() else { return None };
        let remainders = [&secret % (p - &one), &secret % (q - &one)];
        let inverse = BigInt::from(q.magnitude().modinv(p.magnitude())?);
        let computed = [&remainders[0], &remainders[1], &inverse];
        // They count only together.
        if given.len() == 3 && given.iter().zip(computed).any(|(given, computed)| given != computed) {
            return None;
        }
        Some(Self { modulus, exponent, secret, primes, remainders, inverse })
    }

    fn to_value(&self) -> Value {
        let [dp, dq] = &self.remainders;
        let precomputed = record(vec![
            ("Dp", number(dp)),
            ("Dq", number(dq)),
            ("Qinv", number(&self.inverse)),
            ("CRTValues", Value::new_array()),
        ]);
        record(vec![
            ("N", number(&self.modulus)),
            ("E", number(&self.exponent)),
            ("D", number(&self.secret)),
            ("Primes", Value::from(self.primes.iter().map(number).collect::<Vec<_>>())),
            ("Precomputed", precomputed),
        ])
    }

    fn web_fields(&self) -> Vec<(&'static str, String)> {
        let text = |number: &BigInt| BASE64URL_NOPAD.encode(&number.to_bytes_be().1);
        let [dp, dq] = &self.remainders;
        let prime = |index: usize| self.primes.get(index).map(text).unwrap_or_default();
        vec![
            ("kty", "RSA".to_owned()),
            ("n", text(&self.modulus)),
            ("e", text(&self.exponent)),
            ("d", text(&self.secret)),
            ("p", prime(0)),
            ("q", prime(1)),
            ("dp", text(dp)),
            ("dq", text(dq)),
            ("qi", text(&self.inverse)),
        ]
    }
}
