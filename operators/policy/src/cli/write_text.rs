//! The end of a command: a whole text, and its errors.

use std::fmt::Display;
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

/// Writes the errors of a command, each with its name in front. Where they cannot be written nothing can be.
pub(crate) fn write_errors(
    command: &str,
    errors: impl IntoIterator<Item = impl Display>,
    err: &mut dyn Write,
) {
    for error in errors {
        let _ = writeln!(err, "webtroller {command}: {error}");
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
