//! The command line that all patterns share.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use clap::{Args, Parser};
use controller_declaration::Declaration;

use crate::output::print;
use crate::rights;

/// Arguments of every pattern.
#[derive(Clone, Debug, Parser)]
pub struct Arguments {
    /// Starts a control plane, runs the demo of the pattern on it, and ends.
    #[arg(long)]
    pub demo: bool,
    /// With --demo: takes the cluster of the kubeconfig instead of starting one.
    #[arg(long, requires = "demo")]
    pub here: bool,
    /// The namespace to work in.
    #[arg(long, default_value = "default")]
    pub namespace: String,
    /// With --demo: kills a controller right after its n-th write, and starts it again.
    #[arg(long, requires = "demo", value_name = "ROLE:N")]
    pub kill: Option<Place>,
    /// With --demo: runs a controller as two processes at once, as during an update of its Deployment.
    #[arg(long, requires = "demo", value_name = "ROLE")]
    pub twice: Vec<String>,
    /// With --demo: freezes one of two processes of a controller right before its n-th write, until the other has done its part.
    #[arg(long, requires = "demo", value_name = "ROLE:N")]
    pub freeze: Option<Place>,
    /// Prints the CustomResourceDefinitions and ends.
    #[arg(long)]
    pub definitions: bool,
    /// The controllers' declarations.
    #[command(flatten)]
    pub declared: Declared,
    /// Runs one controller instead of all.
    #[arg(long)]
    pub role: Option<String>,
    /// Ends with exit code 86 right after the n-th write.
    #[arg(long, value_name = "N")]
    pub kill_after: Option<u64>,
    /// Stops right before the n-th write, until it gets SIGCONT.
    #[arg(long, value_name = "N")]
    pub freeze_before: Option<u64>,
    /// Stops right before each DELETE, until it gets SIGCONT.
    #[arg(long, conflicts_with = "freeze_before")]
    pub freeze_before_delete: bool,
    /// The user to impersonate, which has the rights of the role and no others.
    #[arg(long, value_name = "USER", hide = true)]
    pub impersonate: Option<String>,
    /// Ends when standard input does.
    #[arg(long, hide = true)]
    pub attached: bool,
    /// Arguments of the role, such as --release=v2.
    #[arg(last = true)]
    pub options: Vec<String>,
}

/// Arguments that ask what the controllers of a program declare, instead of running them.
#[derive(Clone, Debug, Args)]
pub struct Declared {
    /// Prints a page about what each controller does, and ends.
    #[arg(long)]
    declarations: bool,
    /// Prints the RBAC roles of the controllers and ends.
    #[arg(long)]
    roles: bool,
    /// Compares what the controllers did, according to an audit log of the API server, with what they declare, and ends.
    #[arg(long, value_name = "FILE")]
    check_audit: Option<PathBuf>,
}

impl Declared {
    /// Prints what is asked for. True if that was all that the program is for.
    ///
    /// # Errors
    ///
    /// When an audit log cannot be read, or differs from the declarations.
    pub fn print(&self, declarations: &[Declaration], namespace: &str) -> Result<bool> {
        if let Some(log) = &self.check_audit {
            return rights::check(declarations, namespace, log).map(|()| true);
        }
        if self.roles {
            print(rights::manifest(declarations, namespace)?.trim_end());
        } else if self.declarations {
            print(rights::page(declarations).trim_end());
        }
        Ok(self.roles || self.declarations)
    }
}

/// The controller that is killed or frozen, and at which of its writes.
#[derive(Clone, Debug)]
pub struct Place {
    /// The role.
    pub role: String,
    /// The write, from 1.
    pub write: u64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(role, write)| Some((role, write.parse().ok()?)));
        let parsed = parsed.filter(|(_, write)| *write > 0);
        let (role, write) = parsed.ok_or("write ROLE:N, such as core:3, with N from 1")?;
        Ok(Self { role: role.to_owned(), write })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_a_role_and_a_write() {
        let parse = |text: &str| text.parse::<Place>().map(|place| (place.role, place.write)).ok();
        assert_eq!(parse("core:3"), Some(("core".to_owned(), 3)));
        for text in ["core", "core:", "core:0", "core:-1", "core:x", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
