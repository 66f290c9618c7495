//! gator's flags about policies in CEL.

use constraint_framework::policyset::Compiler;
use serde_json::Value;

use super::manifest::Manifest;

const CEL: &str = "K8sNativeValidation";

/// The options of judging policies in CEL.
#[derive(Clone, Debug, clap::Args)]
pub struct EngineArgs {
    /// Judge policies written in CEL; without them a template is judged by its Rego, or refused.
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub enable_k8s_native_validation: bool,
    /// Effect of a policy in CEL that cannot be evaluated and has no failurePolicy of its own.
    #[arg(long, value_name = "POLICY", default_value = "Fail", value_parser = ["Fail", "Ignore"])]
    pub default_k8s_native_validation_failure_policy: String,
}

impl Default for EngineArgs {
    fn default() -> Self {
        Self {
            enable_k8s_native_validation: true,
            default_k8s_native_validation_failure_policy: "Fail".to_owned(),
        }
    }
}

impl EngineArgs {
    /// The compiler with the engines asked for.
    pub(super) fn compiler(&self) -> Compiler {
        self.of(Compiler::default())
    }

    /// A compiler with those of its engines that are asked for.
    pub(super) fn of(&self, all: Compiler) -> Compiler {
        if self.enable_k8s_native_validation { all } else { all.only("Rego") }
    }

    /// Gives the default failure policy to the templates among manifests.
    pub(super) fn apply(&self, manifests: &mut [Manifest]) {
        for manifest in manifests {
            self.apply_to(&mut manifest.object);
        }
    }

    /// Gives the default failure policy to each source in CEL that has none. `Fail` is what they have anyway.
    pub(super) fn apply_to(&self, template: &mut Value) {
        if self.default_k8s_native_validation_failure_policy == "Fail"
            || template["kind"] != "ConstraintTemplate"
        {
            return;
        }
        let targets = template.pointer_mut("/spec/targets").and_then(Value::as_array_mut);
        for target in targets.into_iter().flatten() {
            let code = target.get_mut("code").and_then(Value::as_array_mut);
            for source in code.into_iter().flatten().filter(|code| code["engine"] == CEL) {
                if let Some(fields) = source.get_mut("source").and_then(Value::as_object_mut) {
                    let policy = self.default_k8s_native_validation_failure_policy.as_str();
                    fields.entry("failurePolicy").or_insert_with(|| policy.into());
                }
            }
        }
    }
}
