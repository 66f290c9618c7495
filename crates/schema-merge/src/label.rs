//! Names as Kubernetes allows them, with the API server's explanations.

const DNS1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
    character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
    '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Returns true if a string has the form of a DNS-1035 label, `[a-z]([-a-z0-9]*[a-z0-9])?`. The length, of which Kubernetes
/// allows 63 bytes, is not checked.
#[must_use]
pub fn is_dns1035_label(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && is_label(name)
}

/// Returns true if a string has the form of a DNS-1123 subdomain: labels of lower case letters, digits and inner dashes,
/// separated by dots. The length, of which Kubernetes allows 253 bytes, is not checked.
#[must_use]
pub fn is_dns1123_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

/// Returns what is wrong with a DNS-1035 label.
pub(crate) fn dns1035(name: &str) -> Vec<String> {
    let mut errors = too_long(name, 63);
    if !is_dns1035_label(name) {
        errors.push(DNS1035.to_owned());
    }
    errors
}

/// Returns what is wrong with a DNS-1123 subdomain.
pub(crate) fn subdomain(name: &str) -> Vec<String> {
    let mut errors = too_long(name, 253);
    if !is_dns1123_subdomain(name) {
        errors.push(SUBDOMAIN.to_owned());
    }
    errors
}

fn too_long(name: &str, max: usize) -> Vec<String> {
    if name.len() > max { vec![format!("must be no more than {max} characters")] } else { Vec::new() }
}

fn is_label(label: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    label.starts_with(alphanumeric)
        && label.ends_with(alphanumeric)
        && label.chars().all(|c| alphanumeric(c) || c == '-')
}
