//! `encoding/base64`: decoders that skip line breaks and ignore the bits behind the last byte.

use std::sync::LazyLock;

use data_encoding::{BASE64, BASE64URL, Encoding};

static STANDARD: LazyLock<Encoding> = LazyLock::new(|| lenient(&BASE64));
static URL_SAFE: LazyLock<Encoding> = LazyLock::new(|| lenient(&BASE64URL));

fn lenient(encoding: &Encoding) -> Encoding {
    let mut specification = encoding.specification();
    specification.check_trailing_bits = false;
    specification.ignore.push_str("\r\n");
    specification.encoding().unwrap_or_else(|_| encoding.clone())
}

/// Decodes as `StdEncoding.DecodeString` does; returns `None` where that returns an error.
#[must_use]
pub fn decode(digits: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(digits).ok()
}

/// Decodes as `URLEncoding.DecodeString` does; returns `None` where that returns an error.
#[must_use]
pub fn decode_url(digits: &[u8]) -> Option<Vec<u8>> {
    URL_SAFE.decode(digits).ok()
}
