//! Our side of a comparison: modules compiled and evaluated by `rego-compat`.

use rego_compat::{Budget, Module, Program, RegoVersion, Restrictions, Value, compile};

use crate::Verdict;

/// Modules with their names, all of one language version.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Name and text of every module.
    pub modules: Vec<(String, String)>,
    /// True if the modules are Rego v0.
    pub v0: bool,
}

impl Sources {
    /// The modules as the judge wants them, as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        self.modules
            .iter()
            .map(|(name, text)| (name.clone(), text.clone().into()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// Compiles a query over the modules.
    ///
    /// # Errors
    /// The verdict that they are refused.
    pub fn compile(&self, query: &str, restrictions: &Restrictions) -> Result<Program, Verdict> {
        let version = if self.v0 { RegoVersion::V0 } else { RegoVersion::V1 };
        let refused = |findings: rego_compat::Diagnostics| Verdict::Refused(findings.to_string());
        let parsed: Result<Vec<Module>, _> =
            self.modules.iter().map(|(name, text)| Module::parse(name, text, version)).collect();
        compile(&parsed.map_err(refused)?, query, restrictions).map_err(refused)
    }
}

/// A budget that a busy machine does not run out of: what is compared is answers, not times.
#[must_use]
pub fn patience() -> Budget {
    Budget::default().with_time(std::time::Duration::from_secs(60))
}

/// Evaluates a program.
#[must_use]
pub fn evaluate(program: &Program, input: &Value, data: &Value, budget: &Budget) -> Verdict {
    match program.evaluate(input, data, budget) {
        Ok(Some(value)) => Verdict::Value(value),
        Ok(None) => Verdict::Undefined,
        Err(error) => Verdict::Failed(error.to_string()),
    }
}
