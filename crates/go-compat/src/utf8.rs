//! Strings made of bytes.

/// Decodes bytes as Go's `range` reads them: each byte that is not UTF-8 becomes the replacement character.
#[must_use]
pub fn lossy(bytes: &[u8]) -> String {
    let mut string = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        string.push_str(chunk.valid());
        string.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
    }
    string
}
