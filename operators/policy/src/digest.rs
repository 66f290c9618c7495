//! SHA-256 of several parts.

use sha2::{Digest, Sha256};

/// Feeds a part with its length, so that no two lists of parts feed the same bytes. The same on every platform.
pub(crate) fn feed(digest: &mut Sha256, part: &str) {
    digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
    digest.update(part);
}

/// Returns the first 16 bytes in hexadecimal: far more than it takes that no two of a cluster's objects share them.
pub(crate) fn short_hex(digest: Sha256) -> String {
    data_encoding::HEXLOWER.encode(digest.finalize().get(..16).unwrap_or_default())
}
