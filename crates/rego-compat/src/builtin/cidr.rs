//! `net.cidr_*`. Source: OPA `topdown/cidr.go`; networks themselves are Go's ([`go_compat::net`]), their union is in [`merge`].

use crate::value::Set;
use crate::value::Value;

use super::{Outcome, operand};
use go_compat::net::{Cidr, parse_ip};

pub(super) mod expand;
mod merge;

/// Implements `net.cidr_is_valid(cidr)`.
pub(super) fn is_valid(args: &[&Value]) -> Outcome {
    let valid = operand::string(args, 0).is_ok_and(|text| Cidr::parse(text).is_ok());
    Outcome::Value(Value::Bool(valid))
}

/// Implements `net.cidr_contains(cidr, cidr_or_ip)`.
pub(super) fn contains(args: &[&Value]) -> Outcome {
    contained(args).map(Value::Bool).into()
}

fn contained(args: &[&Value]) -> Result<bool, operand::CallError> {
    let network = Cidr::parse(operand::string(args, 0)?)?;
    let other = operand::string(args, 1)?;
    if let Some(address) = parse_ip(other) {
        return Ok(network.contains_address(address));
    }
    Ok(network.contains(&Cidr::parse(other)?))
}

/// Implements `net.cidr_intersects(a, b)`.
pub(super) fn intersects(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|a| {
        let (a, b) = (Cidr::parse(a)?, Cidr::parse(operand::string(args, 1)?)?);
        Ok(Value::Bool(a.contains_address(b.first()) || b.contains_address(a.first())))
    });
    answer.into()
}

/// Returns the addresses of a network, in order.
pub(crate) fn addresses(text: &str) -> Option<(u128, impl Iterator<Item = String>)> {
    let network = Cidr::parse(text).ok()?;
    Some((network.count(), network.addresses()))
}

/// Implements `net.cidr_merge(networks)`: the fewest networks that hold the same addresses.
pub(super) fn merge(args: &[&Value]) -> Outcome {
    let answer = operand::elements(args, 0).and_then(|elements| {
        let networks: Result<Vec<Cidr>, _> = elements.iter().map(network_of).collect();
        let merged = merge::merged(networks?);
        Ok(Value::from(merged.into_iter().map(|network| Value::from(network.to_string())).collect::<Set>()))
    });
    answer.into()
}

/// Returns an element of `net.cidr_merge`: a network, or an address, which stands for the network of its class.
fn network_of(element: &Value) -> Result<Cidr, operand::CallError> {
    let Value::String(text) = element else {
        return Err(operand::CallError::Failed);
    };
    match parse_ip(text) {
        Some(address) => Cidr::of_class(address).ok_or(operand::CallError::Failed),
        None => Ok(Cidr::parse(text)?),
    }
}

/// Implements `net.cidr_contains_matches(cidrs, cidrs_or_ips)`: the pairs of keys of which the first contains the second.
pub(super) fn contains_matches(args: &[&Value]) -> Outcome {
    matches(args).into()
}

fn matches(args: &[&Value]) -> Result<Value, operand::CallError> {
    let mut found = Set::default();
    for (cidr, key) in keyed_operand(args, 0)? {
        for (other, other_key) in keyed_operand(args, 1)? {
            if contained(&[&cidr, &other])? {
                found.insert(Value::from(vec![key.clone(), other_key]));
            }
        }
    }
    Ok(Value::from(found))
}

/// Returns the networks of an operand, each with what identifies it: itself, its index, or its key.
fn keyed_operand(args: &[&Value], index: usize) -> Result<Vec<(Value, Value)>, operand::CallError> {
    let with_key = |(element, key): (&Value, Value)| Ok((first_of(element)?, key));
    match args.get(index).copied() {
        Some(text @ Value::String(_)) => Ok(vec![(text.clone(), text.clone())]),
        Some(Value::Array(array)) => array.iter().zip((0_u64..).map(Value::from)).map(with_key).collect(),
        Some(Value::Set(set)) => set.iter().map(|element| (element, element.clone())).map(with_key).collect(),
        Some(Value::Object(object)) => {
            object.iter().map(|(key, value)| (value, key.clone())).map(with_key).collect()
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns a network as an element: text, or an array that begins with it.
fn first_of(element: &Value) -> Result<Value, operand::CallError> {
    let first = match element {
        Value::String(_) => Some(element),
        Value::Array(array) => array.first(),
        _ => None,
    };
    first.cloned().ok_or(operand::CallError::Failed)
}
