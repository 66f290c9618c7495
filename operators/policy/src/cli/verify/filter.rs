//! The `--run` filter of `verify`, with Gatekeeper's meaning.

use go_compat::regexp::{self, Regex};

use crate::cli::suite::{Case, Test};

/// The tests and cases that run.
#[derive(Debug)]
pub(super) enum Filter {
    All,
    /// Without `//`: the test or the case.
    Either(Regex),
    /// With `//`: the test and the case.
    Both(Regex, Regex),
}

impl Filter {
    pub(super) fn new(pattern: Option<&str>) -> Result<Self, String> {
        let regex = |pattern: &str| match regexp::compile(pattern) {
            Ok(compiled) => Ok((*compiled.regex).clone()),
            Err(error) => Err(format!("--run: {error}")),
        };
        match pattern {
            None | Some("") => Ok(Self::All),
            Some(pattern) => match pattern.split_once("//") {
                None => Ok(Self::Either(regex(pattern)?)),
                Some((_, case)) if case.contains("//") => {
                    Err("--run: must hold `//` at most once, between test and case".to_owned())
                }
                Some((test, case)) => Ok(Self::Both(regex(test)?, regex(case)?)),
            },
        }
    }

    pub(super) fn selects_test(&self, test: &Test) -> bool {
        match self {
            Self::All => true,
            Self::Either(name) => {
                name.is_match(&test.name) || test.cases.iter().any(|case| name.is_match(&case.name))
            }
            Self::Both(name, _) => name.is_match(&test.name),
        }
    }

    pub(super) fn selects_case(&self, test: &Test, case: &Case) -> bool {
        match self {
            Self::All => true,
            Self::Either(name) => name.is_match(&test.name) || name.is_match(&case.name),
            Self::Both(_, name) => name.is_match(&case.name),
        }
    }
}
