//! Certificates, requests and keys, whole and damaged. Made with openssl for these tests.

use data_encoding::BASE64;
use serde_json::{Value as Json, json};

use crate::random::Random;

macro_rules! pem {
    ($name:literal) => {
        include_str!(concat!("../../certificates/", $name, ".pem"))
    };
}

const ROOT: &str = pem!("ca");
const INTERMEDIATE: &str = pem!("inter");
const LEAF: &str = pem!("leaf");
const LEAF_BELOW: &str = pem!("leaf2");
const CERTIFICATES: &[&str] = &[ROOT, INTERMEDIATE, LEAF, LEAF_BELOW, pem!("ed"), pem!("p521"), pem!("pss")];
const REQUESTS: &[&str] = &[pem!("leaf-request"), pem!("san-request")];
const KEYS: &[&str] = &[
    pem!("ca-rsa"),
    pem!("leaf-key"),
    pem!("leaf-p8"),
    pem!("ed-key"),
    pem!("p521-key"),
    pem!("p224-key"),
    pem!("pss-key"),
];

/// An argument for a function of `crypto`.
pub(super) fn fitting(name: &str, index: usize, random: &mut Random) -> Option<Json> {
    let text = match (name, index) {
        ("crypto.x509.parse_certificates", 0) => certificates(random),
        ("crypto.x509.parse_certificate_request", 0) => damaged(random.pick(REQUESTS), random),
        ("crypto.x509.parse_keypair", 0) if random.once_in(2) => LEAF.to_owned(),
        ("crypto.x509.parse_keypair", 0) => damaged(random.pick(CERTIFICATES), random),
        ("crypto.x509.parse_keypair", 1) if random.once_in(2) => damaged(pem!("leaf-key"), random),
        (
            "crypto.x509.parse_keypair" | "crypto.parse_private_keys" | "crypto.x509.parse_rsa_private_key",
            _,
        ) => damaged(random.pick(KEYS), random),
        ("crypto.x509.parse_and_verify_certificates_with_options", 1) => return Some(options(random)),
        (name, 0) if name.starts_with("crypto.x509.parse_and_verify") => chain(random),
        _ => return None,
    };
    Some(Json::String(text))
}

fn certificates(random: &mut Random) -> String {
    let first = damaged(random.pick(CERTIFICATES), random);
    if random.once_in(4) { format!("{first}{}", random.pick(CERTIFICATES)) } else { first }
}

fn chain(random: &mut Random) -> String {
    let parts: &[&str] = match random.below(5) {
        0 => &[ROOT, LEAF],
        1 => &[ROOT, INTERMEDIATE, LEAF_BELOW],
        2 => &[ROOT, LEAF, INTERMEDIATE, LEAF_BELOW],
        3 => &[ROOT, ROOT],
        _ => &[INTERMEDIATE, LEAF_BELOW],
    };
    let hurt = random.below(parts.len().saturating_mul(2));
    let part = |(place, part): (usize, &&str)| {
        if place != hurt { (*part).to_owned() } else { damaged_block(part, random) }
    };
    parts.iter().enumerate().map(part).collect()
}

/// The text, the bytes behind it in base64, or either with a few bytes changed.
fn damaged(text: &str, random: &mut Random) -> String {
    match random.below(6) {
        0 => text.to_owned(),
        1 => BASE64.encode(text.as_bytes()),
        2 => BASE64.encode(&changed(&content(text), random)),
        3 => {
            let bytes = changed(text.as_bytes(), random);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => damaged_block(text, random),
    }
}

fn damaged_block(text: &str, random: &mut Random) -> String {
    let label = text.lines().next().unwrap_or("").trim_start_matches("-----BEGIN ").trim_end_matches('-');
    let body = BASE64.encode(&changed(&content(text), random));
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

fn content(text: &str) -> Vec<u8> {
    let digits: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    BASE64.decode(digits.as_bytes()).unwrap_or_default()
}

fn changed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.below(3) {
        let place = random.below(bytes.len());
        let new = match random.below(4) {
            0 => 0,
            1 => 0xff,
            2 => bytes.get(place).copied().unwrap_or(0).wrapping_add(1),
            _ => u8::try_from(random.below(256)).unwrap_or(0),
        };
        match random.below(8) {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, new),
            _ => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = new;
                }
            }
        }
    }
    bytes
}

fn options(random: &mut Random) -> Json {
    const HOSTS: &[&str] = &[
        "www.example.org",
        "WWW.example.org.",
        "a.example.org",
        "a.b.example.org",
        "10.1.2.3",
        "[10.1.2.3]",
        "10.1.2.4",
        "::ffff:10.1.2.3",
        "",
        "*.example.org",
        "\"www.example.org\"",
        "_x.example.org",
        "-x.example.org",
    ];
    const TIMES: &[&str] = &["1900000000000000000", "0", "4000000000000000000", "9000000000000000000", "1.5"];
    const USAGES: &[&str] =
        &["KeyUsageAny", "KeyUsageServerAuth", "KeyUsageClientAuth", "KeyUsageCodeSigning", "x"];
    let mut pairs = Vec::new();
    if random.once_in(2) {
        pairs.push(json!(["DNSName", random.pick(HOSTS)]));
    }
    if random.once_in(2) {
        pairs.push(json!(["CurrentTime", {"n": random.pick(TIMES)}]));
    }
    if random.once_in(3) {
        let usages: Vec<&str> = (0..=random.below(2)).map(|_| random.pick(USAGES)).collect();
        pairs.push(json!(["KeyUsages", usages]));
    }
    if random.once_in(8) {
        pairs.push(json!(["MaxConstraintComparisons", {"n": "3"}]));
    }
    if random.once_in(12) {
        pairs.push(json!(["Other", true]));
    }
    json!({ "o": pairs })
}
