//! The bounds and formats of a node.

use super::schema::Node;

/// Bounds of a value: keyword of the lower bound, of the upper bound.
pub(crate) const BOUNDS: [(&str, &str); 4] = [
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];

/// The formats of strings that the API server checks (1.36), without hyphens. It ignores all others.
const STRING_FORMATS: &[&str] = &[
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

impl Node<'_> {
    /// A lower or upper bound, and true if the bound itself is excluded. Integer formats are bounds.
    pub(crate) fn bound(&self, keyword: &str) -> Option<(f64, bool)> {
        let number = |key: &str| self.number(key);
        let exclusive = match keyword {
            "minimum" => "exclusiveMinimum",
            "maximum" => "exclusiveMaximum",
            _ => "",
        };
        // OpenAPI 3.0 has a flag beside the bound, 2020-12 another bound.
        let stated = number(keyword).map(|bound| (bound, self.flag(exclusive)));
        let all = [stated, number(exclusive).map(|bound| (bound, true)), self.format_bound(keyword)];
        all.into_iter().flatten().reduce(|one, other| {
            let narrower = if keyword.starts_with("min") { other.0 > one.0 } else { other.0 < one.0 };
            if narrower || (other.0 == one.0 && other.1) { other } else { one }
        })
    }

    /// The format of strings or numbers, if it is checked.
    pub(crate) fn format(&self) -> Option<String> {
        let name = self.text("format")?.replace('-', "");
        let known = STRING_FORMATS.contains(&name.as_str()) || ["int32", "int64"].contains(&name.as_str());
        (known || !self.enforced).then_some(name)
    }

    fn format_bound(&self, keyword: &str) -> Option<(f64, bool)> {
        if !self.types()?.contains("integer") {
            return None;
        }
        let (low, high) = match self.format().as_deref().unwrap_or("int64") {
            "int8" => (f64::from(i8::MIN), f64::from(i8::MAX)),
            "int16" => (f64::from(i16::MIN), f64::from(i16::MAX)),
            "int32" => (f64::from(i32::MIN), f64::from(i32::MAX)),
            "uint8" => (0.0, f64::from(u8::MAX)),
            "uint16" => (0.0, f64::from(u16::MAX)),
            "uint32" => (0.0, f64::from(u32::MAX)),
            // Every integer of the API server is an int64.
            "uint" | "uint64" => (0.0, i64::MAX as f64),
            _ => (i64::MIN as f64, i64::MAX as f64),
        };
        match keyword {
            "minimum" => Some((low, false)),
            "maximum" => Some((high, false)),
            _ => None,
        }
    }
}
