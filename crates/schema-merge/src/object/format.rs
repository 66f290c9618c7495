//! The formats of strings that the API server looks at, by type; [`go_compat::strfmt`] says whether a string has one.

pub(super) use go_compat::strfmt::validates;

/// Formats of texts that every version of Kubernetes knows, without their dashes.
const UNVERSIONED: [&str; 24] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];
/// Since 1.34.
const NAMES: [&str; 2] = ["k8slongname", "k8sshortname"];

/// Returns true if the server looks at this format for values of this type.
pub(crate) fn is_supported(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => {
            let normal = format.replace('-', "");
            UNVERSIONED.contains(&&*normal) || NAMES.contains(&&*normal)
        }
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_formats_are_left_alone() {
        assert_eq!(validates("uint32", "x"), None);
        assert!(
            is_supported("integer", "int32")
                && !is_supported("integer", "uint32")
                && !is_supported("object", "date")
        );
    }
}
