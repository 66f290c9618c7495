//! The end of a command that prints a whole text.

use std::io::{self, Write};

/// Writes a text. A reader that has seen enough is not a failure.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_text(text: &str, out: &mut dyn Write) -> Result<(), String> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_a_full_disk_is_one() {
        assert_eq!(write_text("a", &mut Broken(io::ErrorKind::BrokenPipe)), Ok(()));
        let error = write_text("a", &mut Broken(io::ErrorKind::StorageFull)).unwrap_err();
        assert!(error.starts_with("cannot write: "), "{error}");
    }
}
