//! The question that the plug-ins of three patterns answer: in which zones should a machine run, best first?
//!
//! One contract, called in the process, in a process started for the call, over a Unix socket and over HTTPS.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The versions of the question that the controllers ask, best first: version 2 has names and prices of zones, version 1
/// names only.
pub const VERSIONS: [&str; 2] = ["v2", "v1"];

/// The best of `known` that a plug-in offers, which says `{"hooks": {"rank": ["v1", "v2"]}}`.
///
/// # Errors
///
/// When it offers none of them.
pub fn agree(offered: &Value, known: &[&'static str]) -> Result<&'static str, String> {
    let versions = offered.pointer("/hooks/rank").and_then(Value::as_array);
    let offers = |version: &&&str| versions.is_some_and(|all| all.iter().any(|one| one == **version));
    let found = known.iter().find(offers).copied();
    found.ok_or_else(|| format!("it offers {offered}; {known:?} are known here"))
}

/// The question: `{"machine": "db", "cores": 4, "zones": [{"name": "eu-1", "cents": 12}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Question {
    /// The machine that needs a zone.
    pub machine: String,
    /// Its size.
    pub cores: u32,
    /// The zones that may be named in the answer.
    pub zones: Vec<Zone>,
}

/// A zone, with its price per core and hour.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// The price in cents.
    pub cents: u32,
}

/// The answer: `{"zones": ["eu-1"]}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Answer {
    /// Names of offered zones, best first. What is left out is excluded.
    pub zones: Vec<String>,
}

// === impl Question ===

impl Question {
    /// A question about a machine, with the zones of all demos.
    #[must_use]
    pub fn new(machine: &str, cores: u32) -> Self {
        let zones = [("eu-1", 12), ("eu-2", 9), ("us-1", 7)];
        let zones = zones.map(|(name, cents)| Zone { name: name.to_owned(), cents });
        Self { machine: machine.to_owned(), cores, zones: zones.to_vec() }
    }

    /// The zones of an answer, in its order. An answer comes from another program, so it is checked like user input.
    ///
    /// # Errors
    ///
    /// When it names a zone that was not offered, or none at all.
    pub fn check(&self, answer: &Answer) -> Result<Vec<Zone>, String> {
        let offered = |name: &String| self.zones.iter().find(|zone| zone.name == *name).cloned();
        let named = answer
            .zones
            .iter()
            .map(|name| offered(name).ok_or_else(|| format!("zone {name} was not offered")));
        let zones = named.collect::<Result<Vec<_>, _>>()?;
        if zones.is_empty() { Err("no zone is left".to_owned()) } else { Ok(zones) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_held_to_the_question() {
        let question = Question::new("a", 1);
        let check = |zones: &[&str]| {
            let zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
            question.check(&Answer { zones }).map(|zones| zones.len())
        };
        assert_eq!(check(&["us-1", "eu-1"]), Ok(2));
        assert_eq!(check(&["mars"]), Err("zone mars was not offered".to_owned()));
        assert_eq!(check(&[]), Err("no zone is left".to_owned()));
    }
}
