//! The engine that judges: the meaning of `--engine` for one template.

use constraint_framework::policyset::Compiler;
use serde_json::Value;

use crate::cli::engine_args::EngineArgs;

/// The engine that judges the cases of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineChoice {
    /// Rego, also where a template has CEL too.
    Rego,
    /// CEL: the engine `K8sNativeValidation`.
    Cel,
    /// Rego as the engine regorus answers it, for a second opinion. It is not OPA: what it lacks or answers otherwise is
    /// listed in `crates/constraint-framework/tests/regorus.rs`.
    #[cfg(feature = "regorus")]
    Regorus,
    /// Each that a template has code for, and whether they agree.
    Both,
}

const REGO: &str = "Rego";
const CEL: &str = "K8sNativeValidation";

/// The compilers that judge a template, one after the other; none where it has no code for the engine asked for.
pub(super) fn compilers(choice: Option<EngineChoice>, args: &EngineArgs, template: &Value) -> Vec<Compiler> {
    let wanted: &[&str] = match choice {
        None => return vec![args.compiler()],
        Some(EngineChoice::Rego) => &[REGO],
        Some(EngineChoice::Cel) => &[CEL],
        #[cfg(feature = "regorus")]
        Some(EngineChoice::Regorus) => {
            return has_code(template, REGO).then(regorus).into_iter().collect();
        }
        Some(EngineChoice::Both) => &[CEL, REGO],
    };
    let written = wanted.iter().filter(|engine| has_code(template, engine));
    written.map(|engine| Compiler::default().only(engine)).collect()
}

#[cfg(feature = "regorus")]
fn regorus() -> Compiler {
    use std::sync::Arc;

    use constraint_framework::driver::{Driver, RegorusDriver};
    use constraint_framework::target::{AdmissionTarget, Target};

    Compiler::new(
        [Arc::new(AdmissionTarget) as Arc<dyn Target>],
        [Arc::new(RegorusDriver) as Arc<dyn Driver>],
    )
}

fn has_code(template: &Value, engine: &str) -> bool {
    let targets = template.pointer("/spec/targets").and_then(Value::as_array);
    targets.into_iter().flatten().any(|target| {
        let code = target.get("code").and_then(Value::as_array);
        let mut engines = code.into_iter().flatten().filter_map(|code| code.get("engine")?.as_str());
        engines.any(|written| written == engine) || engine == REGO && target.get("rego").is_some()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_is_judged_by_the_engines_it_has() {
        let both = json!({"spec": {"targets": [{"rego": "package a", "code": [{"engine": CEL}]}]}});
        let rego = json!({"spec": {"targets": [{"code": [{"engine": REGO}]}]}});
        let count = |choice, template| compilers(choice, &EngineArgs::default(), template).len();
        assert_eq!((count(None, &rego), count(None, &both)), (1, 1));
        assert_eq!((count(Some(EngineChoice::Cel), &rego), count(Some(EngineChoice::Cel), &both)), (0, 1));
        #[cfg(feature = "regorus")]
        assert_eq!(count(Some(EngineChoice::Regorus), &rego), 1);
        assert_eq!((count(Some(EngineChoice::Both), &rego), count(Some(EngineChoice::Both), &both)), (1, 2));
    }
}
