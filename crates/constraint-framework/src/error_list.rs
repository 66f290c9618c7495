//! Validation results: all errors of one check as one error.

/// Declares a list of errors that is itself an error. `Display` is one error a line.
macro_rules! error_list {
    ($(#[$doc:meta])* $list:ident of $error:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $list(Vec<$error>);

        impl $list {
            /// Returns the errors in order.
            pub fn iter(&self) -> std::slice::Iter<'_, $error> {
                self.0.iter()
            }

            /// Returns the number of errors.
            #[must_use]
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Returns true if there are none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<Vec<$error>> for $list {
            fn from(errors: Vec<$error>) -> Self {
                Self(errors)
            }
        }

        impl IntoIterator for $list {
            type Item = $error;
            type IntoIter = std::vec::IntoIter<$error>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }

        impl<'a> IntoIterator for &'a $list {
            type Item = &'a $error;
            type IntoIter = std::slice::Iter<'a, $error>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }

        impl std::fmt::Display for $list {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                for (position, error) in self.0.iter().enumerate() {
                    if position > 0 {
                        f.write_str("\n")?;
                    }
                    write!(f, "{error}")?;
                }
                Ok(())
            }
        }

        impl std::error::Error for $list {}
    };
}

pub(crate) use error_list;

#[cfg(test)]
mod tests {
    use crate::driver::{CompileError, CompileErrors};

    #[test]
    fn a_list_is_an_error_with_a_line_for_each_of_its_errors() {
        let error = |line: u8| CompileError {
            code: "rego_parse_error".to_owned(),
            message: "no".to_owned(),
            location: format!("template:{line}:1"),
        };
        let errors = CompileErrors::from(vec![error(1), error(2)]);
        assert_eq!(errors.to_string(), "template:1:1: no\ntemplate:2:1: no");
        assert!((&errors).into_iter().eq(&[error(1), error(2)]));
        let errors: Box<dyn std::error::Error> = errors.into();
        assert!(errors.source().is_none());
    }
}
