//! The bounds of evaluations that no request waits for: those of the command line and of the audit.

use std::time::Duration;

use constraint_framework::driver::Budget;

/// Wall-clock time. The webhook's second would make the answer depend on the speed of the machine; here the bound on
/// steps ends what does not come to an end, after the same step on each machine.
const TIME: Duration = Duration::from_secs(60);

/// The bounds of an evaluation without a deadline.
pub(crate) fn without_deadline() -> Budget {
    Budget::default().with_time(TIME)
}

/// Policies that are slow, for tests of what calls them.
#[cfg(test)]
pub(crate) mod slow {
    use std::sync::Arc;

    use constraint_framework::driver::{Case, CompileErrors, CompiledPolicy, Driver, EvalError, Limit};
    use constraint_framework::policyset::Compiler;
    use constraint_framework::review::RawViolation;
    use constraint_framework::target::{AdmissionTarget, Target};
    use serde_json::Value;

    use super::*;

    /// A template, a constraint and an object.
    pub(crate) const MANIFESTS: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: slow}
spec:
  crd: {spec: {names: {kind: Slow}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: package slow
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Slow, metadata: {name: slow}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}
"#;

    /// Evaluations take half a minute, as on a slow machine, without letting it pass, and find nothing.
    #[derive(Debug)]
    struct SlowDriver;

    impl Driver for SlowDriver {
        fn engine(&self) -> &str {
            "Rego"
        }

        fn compile(&self, _: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
            Ok(Arc::new(Self))
        }
    }

    impl CompiledPolicy for SlowDriver {
        fn evaluate(&self, _: &Case<'_>, budget: &Budget) -> Result<Vec<RawViolation>, EvalError> {
            if budget.time < Duration::from_secs(30) {
                return Err(EvalError::Rego(rego_compat::EvalError::Budget(Limit::Time)));
            }
            Ok(Vec::new())
        }
    }

    /// Compiles templates in Rego to slow policies.
    pub(crate) fn compiler() -> Compiler {
        let target: Arc<dyn Target> = Arc::new(AdmissionTarget);
        Compiler::new([target], [Arc::new(SlowDriver) as Arc<dyn Driver>])
    }
}
