//! Addresses and networks: `ip`, `cidr` and what they know, as Go's `net/netip` reads them.
//!
//! Zones and IPv4 addresses written as IPv6 are refused, as in Kubernetes.

use std::net::IpAddr;

use go_compat::netip::Prefix;
use go_compat::strconv::quote;

use crate::value::Declared;
use crate::value::Value;

use super::super::error::EvalError;
use super::Native;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ip(IpAddr);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cidr(Prefix);

impl Declared for Ip {
    const NAME: &'static str = "net.IP";
}

impl Declared for Cidr {
    const NAME: &'static str = "net.CIDR";
}

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("ip", |_, arguments| match arguments {
        [Value::String(raw)] => address(raw).map(made),
        _ => cidr(arguments, 0).map(|cidr| made(cidr.address())),
    }),
    ("isIP", |_, arguments| raw(arguments).map(|raw| Value::Bool(address(raw).is_ok()))),
    ("ip.isCanonical", |_, arguments| {
        let raw = raw(arguments)?;
        Ok(Value::Bool(address(raw)?.to_string() == raw))
    }),
    ("family", |_, arguments| ip(arguments, 0).map(|ip| Value::Int(if ip.is_ipv4() { 4 } else { 6 }))),
    ("isLoopback", |_, arguments| ask(arguments, |ip| ip.is_loopback())),
    ("isUnspecified", |_, arguments| ask(arguments, |ip| ip.is_unspecified())),
    ("isLinkLocalMulticast", |_, arguments| ask(arguments, is_link_local_multicast)),
    ("isLinkLocalUnicast", |_, arguments| ask(arguments, is_link_local_unicast)),
    ("isGlobalUnicast", |_, arguments| ask(arguments, is_global_unicast)),
    ("cidr", |_, arguments| network(raw(arguments)?).map(|prefix| Value::opaque(Cidr(prefix)))),
    ("isCIDR", |_, arguments| raw(arguments).map(|raw| Value::Bool(network(raw).is_ok()))),
    ("containsIP", |_, arguments| {
        let this = cidr(arguments, 0)?;
        let other = match arguments {
            [_, Value::String(raw)] => address(raw)?,
            _ => ip(arguments, 1)?,
        };
        Ok(Value::Bool(this.contains(other)))
    }),
    ("containsCIDR", |_, arguments| {
        let this = cidr(arguments, 0)?;
        let other = match arguments {
            [_, Value::String(raw)] => network(raw)?,
            _ => cidr(arguments, 1)?,
        };
        Ok(Value::Bool(this.bits() <= other.bits() && this.contains(other.address())))
    }),
    ("prefixLength", |_, arguments| cidr(arguments, 0).map(|cidr| Value::Int(i64::from(cidr.bits())))),
    ("masked", |_, arguments| cidr(arguments, 0).map(|cidr| Value::opaque(Cidr(cidr.masked())))),
];

/// The text of an address or a network; `None` for anything else.
pub(super) fn to_text(value: &Value) -> Option<Value> {
    let Value::Opaque(opaque) = value else {
        return None;
    };
    if let Some(Ip(address)) = opaque.downcast_ref() {
        return Some(Value::string(address.to_string()));
    }
    let Cidr(prefix) = opaque.downcast_ref()?;
    Some(Value::string(prefix.to_string()))
}

fn made(address: IpAddr) -> Value {
    Value::opaque(Ip(address))
}

fn raw(arguments: &[Value]) -> Result<&str, EvalError> {
    match arguments {
        [Value::String(raw)] => Ok(raw),
        _ => Err(EvalError::no_overload()),
    }
}

fn opaque<T: Copy + Declared>(arguments: &[Value], position: usize) -> Result<T, EvalError> {
    match arguments.get(position) {
        Some(Value::Opaque(opaque)) => opaque.downcast_ref().copied().ok_or_else(EvalError::no_overload),
        _ => Err(EvalError::no_overload()),
    }
}

fn ip(arguments: &[Value], position: usize) -> Result<IpAddr, EvalError> {
    opaque::<Ip>(arguments, position).map(|ip| ip.0)
}

fn cidr(arguments: &[Value], position: usize) -> Result<Prefix, EvalError> {
    opaque::<Cidr>(arguments, position).map(|cidr| cidr.0)
}

fn ask(arguments: &[Value], question: fn(IpAddr) -> bool) -> Result<Value, EvalError> {
    ip(arguments, 0).map(|ip| Value::Bool(question(ip)))
}

fn address(raw: &str) -> Result<IpAddr, EvalError> {
    let address: IpAddr = raw.parse().map_err(|_| {
        EvalError::Failed(format!("IP Address {} parse error during conversion from string", quote(raw)))
    })?;
    refuse_mapped(address, raw)
}

fn refuse_mapped(address: IpAddr, raw: &str) -> Result<IpAddr, EvalError> {
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(EvalError::Failed(format!("IPv4-mapped IPv6 address {} is not allowed", quote(raw))))
        }
        other => Ok(other),
    }
}

fn network(raw: &str) -> Result<Prefix, EvalError> {
    let prefix = Prefix::parse(raw).ok_or_else(|| {
        EvalError::Failed(format!(
            "network address parse error during conversion from string: {}",
            quote(raw)
        ))
    })?;
    refuse_mapped(prefix.address(), raw)?;
    Ok(prefix)
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => matches!(v4.octets(), [224, 0, 0, _]),
        IpAddr::V6(v6) => v6.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    !(is_broadcast
        || ip.is_unspecified()
        || ip.is_loopback()
        || ip.is_multicast()
        || is_link_local_unicast(ip))
}
