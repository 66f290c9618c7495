//! `io.jwt.decode_verify`: a token against what is required of it.

use go_compat::utf8;

use crate::meter::Now;
use crate::value::Object;
use crate::value::Value;

use super::algorithm::Algorithm;
use super::key::{self, Key};
use super::{Header, MOST_NESTED, Token, field, json_object};
use crate::builtin::Outcome;
use crate::builtin::operand::{self, CallError};

/// The requirements in the second argument.
struct Constraints {
    keys: Option<Vec<Key>>,
    secret: String,
    algorithm: String,
    issuer: String,
    audience: String,
    /// Nanoseconds since 1970: those of the evaluation, unless there is a requirement.
    time: f64,
}

impl Constraints {
    fn parse(object: &Object, now: Now) -> Result<Self, CallError> {
        let mut constraints = Self {
            keys: None,
            secret: String::new(),
            algorithm: String::new(),
            issuer: String::new(),
            audience: String::new(),
            time: now as f64,
        };
        for (name, value) in object.iter() {
            let Value::String(name) = name else {
                return Err(CallError::Failed);
            };
            let text = || match value {
                Value::String(text) => Ok(text.to_string()),
                _ => Err(CallError::Failed),
            };
            match &**name {
                "cert" => constraints.keys = Some(key::parse(&text()?)?),
                "secret" => constraints.secret = text()?,
                "alg" => constraints.algorithm = text()?,
                "iss" => constraints.issuer = text()?,
                "aud" => constraints.audience = text()?,
                "time" => constraints.time = time_of(value)?,
                _ => return Err(CallError::Failed),
            }
        }
        // Certificates, or a secret: one of both.
        if constraints.keys.is_some() == constraints.secret.is_empty() {
            Ok(constraints)
        } else {
            Err(CallError::Failed)
        }
    }

    fn signed_by_one(&self, header: &Header, token: &Token<'_>) -> Result<bool, CallError> {
        let Some(algorithm) = Algorithm::named(&header.algorithm) else {
            return Ok(false);
        };
        let (signed, signature) = (token.signed(), token.signature()?);
        match &self.keys {
            Some(keys) => Ok(any_verifies(keys, header, algorithm, &signed, &signature)),
            None => Ok(algorithm.secret_verifies(&self.secret, &signed, &signature)),
        }
    }

    /// Checks the registered claims: issuer, audience, and the times between which a token is valid.
    fn met_by(&self, payload: &Value) -> Result<bool, CallError> {
        let issuer = field(payload, "iss");
        if !self.issuer.is_empty() && issuer != Some(&Value::from(self.issuer.as_str())) {
            return Ok(false);
        }
        let audience = Value::from(self.audience.as_str());
        let for_us = match field(payload, "aud") {
            None => self.audience.is_empty(),
            Some(Value::Array(all)) => all.contains(&audience),
            Some(one) => *one == audience,
        };
        let expires = claimed_time(payload, "exp")?;
        let begins = claimed_time(payload, "nbf")?;
        let now = self.time / 1e9;
        Ok(for_us && expires.is_none_or(|expires| now < expires) && begins.is_none_or(|begins| begins <= now))
    }
}

fn time_of(value: &Value) -> Result<f64, CallError> {
    let Value::Number(_) = value else {
        return Err(CallError::Failed);
    };
    match value.to_string().parse::<f64>() {
        Ok(time) if time >= 0.0 => Ok(time),
        _ => Err(CallError::Failed),
    }
}

fn claimed_time(payload: &Value, name: &str) -> Result<Option<f64>, CallError> {
    match field(payload, name) {
        None => Ok(None),
        // Without an error, a token whose time cannot be read would never expire.
        Some(number @ Value::Number(_)) => {
            number.to_string().parse().map(Some).map_err(|_| CallError::Failed)
        }
        Some(_) => Err(CallError::Failed),
    }
}

/// Returns true if a key of a set verifies: the one with the header's identifier, or else any of a fitting algorithm.
pub(super) fn any_verifies(
    keys: &[Key],
    header: &Header,
    algorithm: Algorithm,
    signed: &[u8],
    signature: &[u8],
) -> bool {
    let named = header.key_id.as_ref().filter(|id| !id.is_empty());
    if let Some(key) = named.and_then(|id| keys.iter().find(|key| key.id.as_ref() == Some(id))) {
        return key.verifies(algorithm, signed, signature);
    }
    let announced = Algorithm::named(&header.algorithm);
    let fits = |key: &&Key| key.algorithm.is_none() || key.algorithm == announced;
    keys.iter().filter(fits).any(|key| key.verifies(algorithm, signed, signature))
}

/// `io.jwt.decode_verify(token, constraints)`: whether the token is as required, its header and its payload.
pub(in crate::builtin) fn decode_verify(args: &[&Value], now: Now) -> Outcome {
    let answer = operand::object(args, 1).and_then(|object| {
        let constraints = Constraints::parse(object, now)?;
        let token = operand::string(args, 0)?;
        let verified = verified(token, &constraints)?;
        let (valid, header, payload) = match verified {
            Some((header, payload)) => (true, header, payload),
            None => (false, Value::new_object(), Value::new_object()),
        };
        Ok(Value::from(vec![Value::Bool(valid), header, payload]))
    });
    answer.into()
}

/// Returns header and payload of a token that meets the constraints, of the innermost one where tokens are nested.
fn verified(text: &str, constraints: &Constraints) -> Result<Option<(Value, Value)>, CallError> {
    let mut text = text.to_owned();
    for _ in 0..MOST_NESTED {
        let token = Token::parse(&text)?;
        let document = token.header()?;
        let header = Header::parse(&document)?;
        let wanted = constraints.algorithm.is_empty() || constraints.algorithm == header.algorithm;
        if !header.is_valid() || !wanted || !constraints.signed_by_one(&header, &token)? {
            return Ok(None);
        }
        let payload = token.payload()?;
        if !header.content_type.eq_ignore_ascii_case("JWT") {
            let payload = json_object(&payload)?;
            return Ok(constraints.met_by(&payload)?.then_some((document, payload)));
        }
        text = utf8::lossy(&payload);
    }
    Err(CallError::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::tokens::sign::encode_sign;

    #[test]
    fn a_token_is_judged_at_the_time_of_the_evaluation() {
        let json = |text| Value::from_json_str(text).unwrap();
        let (header, key) = (json(r#"{"alg": "HS256"}"#), json(r#"{"kty": "oct", "k": "c2VjcmV0"}"#));
        let Outcome::Value(token) = encode_sign(&[&header, &json(r#"{"nbf": 50, "exp": 100}"#), &key]) else {
            panic!("no token");
        };
        let constraints = json(r#"{"secret": "secret"}"#);
        for (seconds, expected) in [(49_i64, false), (99, true), (101, false)] {
            let answer = decode_verify(&[&token, &constraints], seconds * 1_000_000_000);
            let Outcome::Value(Value::Array(parts)) = answer else { panic!("{answer:?}") };
            assert_eq!(parts.iter().next(), Some(&Value::Bool(expected)), "{seconds}");
        }
    }
}
