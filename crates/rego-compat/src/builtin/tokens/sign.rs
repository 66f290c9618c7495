//! `io.jwt.encode_sign` and `io.jwt.encode_sign_raw`: tokens made with a JSON web key.

use crate::value::Value;
use data_encoding::BASE64URL_NOPAD;
use hmac::Hmac;
use p521::ecdsa::signature::Signer;
use ring::rand::{SecureRandom, SystemRandom};
use ring::rsa::{KeyPair as RsaKeyPair, KeyPairComponents, PublicKeyComponents};
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair};
use sha2::{Sha256, Sha384, Sha512};

use super::algorithm::{Algorithm, Family, Hash};
use super::field;
use crate::builtin::encoding::from_base64url;
use crate::builtin::json;
use crate::builtin::numbers::NO_RANDOM;
use crate::builtin::operand::{self, CallError};
use crate::builtin::{Outcome, crypto};

/// `io.jwt.encode_sign(headers, payload, key)`, all of them objects.
pub(in crate::builtin) fn encode_sign(args: &[&Value]) -> Outcome {
    let texts: Result<Vec<String>, CallError> = args.iter().copied().map(json::marshalled).collect();
    match texts.as_deref() {
        Ok([header, payload, key]) => token(header, payload, key).into(),
        Ok(_) => Outcome::Undefined,
        Err(error) => Outcome::Error(*error),
    }
}

/// `io.jwt.encode_sign_raw(headers, payload, key)`, all of them JSON in text.
pub(in crate::builtin) fn encode_sign_raw(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|header| {
        let (payload, key) = (operand::string(args, 1)?, operand::string(args, 2)?);
        token(header, payload, key)
    });
    answer.into()
}

fn token(header: &str, payload: &str, key: &str) -> Result<Value, CallError> {
    let parsed = Value::from_json_str(header).map_err(|_| CallError::Failed)?;
    let text = |name| field(&parsed, name).and_then(|value| value.as_string().ok());
    let name = text("alg").ok_or(CallError::Failed)?;
    let algorithm = Algorithm::named(name).ok_or(CallError::Failed)?;
    if text("typ").is_none_or(|kind| **kind == *"JWT") && Value::from_json_str(payload).is_err() {
        return Err(CallError::Failed);
    }
    let key = Value::from_json_str(key).map_err(|_| CallError::Failed)?;
    let encode = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    let signed = format!("{}.{}", encode(header), encode(payload));
    let signature = signature_of(signed.as_bytes(), algorithm, &key)?;
    Ok(Value::from(format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))))
}

/// The bytes of a member of the key.
type Bytes<'a> = &'a dyn Fn(&'static str) -> Result<Vec<u8>, CallError>;

fn signature_of(signed: &[u8], algorithm: Algorithm, key: &Value) -> Result<Vec<u8>, CallError> {
    let text = |name| field(key, name).and_then(|value| value.as_string().ok()).ok_or(CallError::Failed);
    let bytes = |name| from_base64url(text(name)?).map_err(|_| CallError::Failed);
    match (&**text("kty")?, algorithm.family) {
        ("oct", Family::Secret) => secret(signed, algorithm.hash, &bytes("k")?).ok_or(CallError::Failed),
        ("RSA", Family::Pkcs1 | Family::Pss) => rsa(signed, algorithm, &bytes),
        ("EC", Family::Elliptic) => elliptic(signed, algorithm.hash, &bytes),
        ("OKP", Family::Edwards) => {
            let pair = Ed25519KeyPair::from_seed_and_public_key(&bytes("d")?, &bytes("x")?);
            Ok(pair.map_err(|_| CallError::Failed)?.sign(signed).as_ref().to_vec())
        }
        _ => Err(CallError::Failed),
    }
}

fn secret(signed: &[u8], hash: Hash, key: &[u8]) -> Option<Vec<u8>> {
    match hash {
        Hash::Sha256 => crypto::authenticate::<Hmac<Sha256>>(signed, key),
        Hash::Sha384 => crypto::authenticate::<Hmac<Sha384>>(signed, key),
        Hash::Sha512 => crypto::authenticate::<Hmac<Sha512>>(signed, key),
    }
}

fn rsa(signed: &[u8], algorithm: Algorithm, bytes: Bytes<'_>) -> Result<Vec<u8>, CallError> {
    let pair = RsaKeyPair::from_components(&KeyPairComponents {
        public_key: PublicKeyComponents { n: bytes("n")?, e: bytes("e")? },
        d: bytes("d")?,
        p: bytes("p")?,
        q: bytes("q")?,
        dP: bytes("dp")?,
        dQ: bytes("dq")?,
        qInv: bytes("qi")?,
    });
    let encoding: &dyn signature::RsaEncoding = match (algorithm.family, algorithm.hash) {
        (Family::Pss, Hash::Sha256) => &signature::RSA_PSS_SHA256,
        (Family::Pss, Hash::Sha384) => &signature::RSA_PSS_SHA384,
        (Family::Pss, Hash::Sha512) => &signature::RSA_PSS_SHA512,
        (_, Hash::Sha256) => &signature::RSA_PKCS1_SHA256,
        (_, Hash::Sha384) => &signature::RSA_PKCS1_SHA384,
        (_, Hash::Sha512) => &signature::RSA_PKCS1_SHA512,
    };
    let pair = pair.map_err(|_| CallError::Failed)?;
    let mut signature = vec![0; pair.public().modulus_len()];
    // The key was accepted.
    pair.sign(encoding, &SystemRandom::new(), signed, &mut signature).map_err(|_| NO_RANDOM)?;
    Ok(signature)
}

fn elliptic(signed: &[u8], hash: Hash, bytes: Bytes<'_>) -> Result<Vec<u8>, CallError> {
    let curve = match hash {
        Hash::Sha256 => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        Hash::Sha384 => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        Hash::Sha512 => return largest(signed, &bytes("d")?).ok_or(CallError::Failed),
    };
    let point = [vec![4], bytes("x")?, bytes("y")?].concat();
    let random = SystemRandom::new();
    // Without random numbers every key would be called a bad one.
    random.fill(&mut [0]).map_err(|_| NO_RANDOM)?;
    let pair = EcdsaKeyPair::from_private_key_and_public_key(curve, &bytes("d")?, &point, &random);
    let signature = pair.map_err(|_| CallError::Failed)?.sign(&random, signed);
    Ok(signature.map_err(|_| NO_RANDOM)?.as_ref().to_vec())
}

/// Returns a signature on P-521.
fn largest(signed: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    const WIDTH: usize = 66;
    let zeros = std::iter::repeat_n(0, WIDTH.saturating_sub(secret.len()));
    let secret: Vec<u8> = zeros.chain(secret.iter().copied()).collect();
    let key = p521::ecdsa::SigningKey::from_slice(&secret).ok()?;
    let signature: p521::ecdsa::Signature = key.try_sign(signed).ok()?;
    Some(signature.to_bytes().to_vec())
}
