//! From manifests to compiled policies: the known targets and drivers, and nothing that changes.

use std::sync::Arc;

use serde_json::Value;

use crate::api::{ConstraintTemplate, FieldError};
use crate::driver::{Driver, Program, RegoDriver};
use crate::error::IngestError;
use crate::target::{AdmissionTarget, CrdError, CrdParts, Target, constraint_crd};

use super::compiled::CompiledTemplate;

/// Compiles templates. Cheap to clone and shared by threads, so that compiling needs no lock.
#[derive(Clone, Debug)]
pub struct Compiler {
    targets: Arc<[Arc<dyn Target>]>,
    drivers: Arc<[Arc<dyn Driver>]>,
}

impl Default for Compiler {
    /// Kubernetes admission, judged by Rego.
    fn default() -> Self {
        Self::new([Arc::new(AdmissionTarget) as Arc<dyn Target>], [Arc::new(RegoDriver) as Arc<dyn Driver>])
    }
}

impl Compiler {
    /// With these targets and drivers. Where a template has code for several engines, the first driver wins.
    pub fn new(
        targets: impl IntoIterator<Item = Arc<dyn Target>>,
        drivers: impl IntoIterator<Item = Arc<dyn Driver>>,
    ) -> Self {
        Self { targets: targets.into_iter().collect(), drivers: drivers.into_iter().collect() }
    }

    /// Compiles a template's code and checks that its constraint CRD can be built.
    ///
    /// # Errors
    /// See [`IngestError`].
    pub fn compile(&self, template: &ConstraintTemplate) -> Result<CompiledTemplate, IngestError> {
        let target = self.target(template)?;
        let crd = self.crd(template)?;
        let program = self.program(template)?;
        Ok(CompiledTemplate::new(template, target, program, crd))
    }

    /// The constraint CRD of a template, as a JSON object ready to be applied.
    ///
    /// # Errors
    /// An unknown target, or everything that the API server would refuse about the CRD.
    pub fn crd(&self, template: &ConstraintTemplate) -> Result<Value, IngestError> {
        let target = self.target(template)?;
        let parts = CrdParts {
            template_name: &template.metadata.name,
            kind: template.constraint_kind(),
            short_names: &template.spec.crd.spec.names.short_names,
            labels: &template.metadata.labels,
            parameters: template.parameter_schema(),
            legacy_schema: template.legacy_schema(),
            match_schema: &target.match_schema(),
        };
        constraint_crd(&parts).map_err(|errors| IngestError::Crd(errors.iter().map(to_correct).collect()))
    }

    /// The target of that name.
    pub(super) fn target_named(&self, name: &str) -> Option<&Arc<dyn Target>> {
        self.targets.iter().find(|target| target.name() == name)
    }

    fn target(&self, template: &ConstraintTemplate) -> Result<Arc<dyn Target>, IngestError> {
        let name = template.target().map(|target| target.target.clone()).unwrap_or_default();
        self.target_named(&name).cloned().ok_or_else(|| IngestError::UnknownTarget {
            name,
            known: self.targets.iter().map(|target| target.name()).collect::<Vec<_>>().join(", "),
        })
    }

    fn program(&self, template: &ConstraintTemplate) -> Result<Arc<dyn Program>, IngestError> {
        let sources = template.target().map(crate::api::TargetSpec::sources).unwrap_or_default();
        for driver in self.drivers.iter() {
            if let Some(code) = sources.iter().find(|code| code.engine == driver.engine()) {
                return driver.compile(&code.source).map_err(IngestError::Compile);
            }
        }
        let known = self.drivers.iter().map(|driver| driver.engine()).collect::<Vec<_>>().join(", ");
        Err(IngestError::NoDriver { known })
    }
}

fn to_correct(error: &CrdError) -> FieldError {
    FieldError::new(error.pointer(), error.to_string())
}
