//! Placement strategies behind a trait, found by name. What is compiled in and what is a program look the same from outside.

use std::collections::BTreeMap;
use std::path::Path;

use examples::ranking::{Answer, Question};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::executable::{self, Executable};

/// Ranks the zones for a machine.
pub(crate) trait Strategy: Send + Sync {
    /// Answers, or says why not. The caller checks the answer against the question.
    fn rank<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Answer, String>>;
}

/// A strategy that is compiled in: a function, trusted like the rest of the controller.
struct Builtin(fn(&Question) -> Answer);

impl Strategy for Builtin {
    fn rank<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Answer, String>> {
        std::future::ready(Ok(self.0(question))).boxed()
    }
}

impl Strategy for Executable {
    fn rank<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Answer, String>> {
        self.ask(question).boxed()
    }
}

/// The strategies, or why one of that name cannot be used.
pub(crate) struct Registry(BTreeMap<String, Result<Box<dyn Strategy>, String>>);

// === impl Registry ===

impl Registry {
    /// Loads what is compiled in, and every program in the folder; a program cannot take the name of a builtin.
    pub(crate) async fn load(folder: &Path) -> std::io::Result<Self> {
        let mut known: BTreeMap<_, Result<Box<dyn Strategy>, _>> = BTreeMap::new();
        for (name, found) in executable::discover(folder).await? {
            known.insert(name, found.map(|program| Box::new(program) as Box<dyn Strategy>));
        }
        for (name, function) in [("cheapest", cheapest as fn(&Question) -> Answer), ("first", first)] {
            known.insert(name.to_owned(), Ok(Box::new(Builtin(function))));
        }
        Ok(Self(known))
    }

    pub(crate) fn get(&self, name: &str) -> Result<&dyn Strategy, String> {
        match self.0.get(name) {
            Some(Ok(strategy)) => Ok(strategy.as_ref()),
            Some(Err(refused)) => Err(refused.clone()),
            None => Err(format!("is not among {}", self.0.keys().cloned().collect::<Vec<_>>().join(", "))),
        }
    }
}

fn cheapest(question: &Question) -> Answer {
    let mut zones = question.zones.clone();
    zones.sort_by_key(|zone| zone.cents);
    Answer { zones: zones.into_iter().map(|zone| zone.name).collect() }
}

fn first(question: &Question) -> Answer {
    Answer { zones: question.zones.iter().map(|zone| zone.name.clone()).collect() }
}
