//! The compiler of templates: known targets and drivers, without mutable state.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::api::{Constraint, ConstraintSpec, ConstraintTemplate, FieldErrors};
use crate::driver::{CelDriver, Driver, PrintListener, RegoDriver};
use crate::error::IngestError;
use crate::review::EnforcementPoint;
use crate::target::{AdmissionTarget, ConstraintCrds, CrdParts, Target};

use super::compiled::{CompiledTemplate, Programs, common_parts};
use super::contain::contained;

/// The compiler of templates: known targets and drivers, immutable. Cheap to clone and shared by threads, so that compiling
/// needs no lock.
#[derive(Clone, Debug)]
pub struct Compiler {
    targets: Arc<[KnownTarget]>,
    drivers: Arc<[Arc<dyn Driver>]>,
    /// True if all code of a template is compiled, not only the deciding engine's.
    compares: bool,
    /// The enforcement points that constraints can name.
    points: Arc<[EnforcementPoint]>,
}

#[derive(Debug)]
struct KnownTarget {
    target: Arc<dyn Target>,
    /// Made when the first template needs it, because its larger part is a match schema to be checked.
    crds: OnceLock<Arc<ConstraintCrds>>,
}

impl Default for Compiler {
    /// Creates a compiler for Kubernetes admission, judged by CEL or Rego; where a template has both, by CEL, as in
    /// Gatekeeper.
    fn default() -> Self {
        Self::new(
            [Arc::new(AdmissionTarget) as Arc<dyn Target>],
            [Arc::new(CelDriver) as Arc<dyn Driver>, Arc::new(RegoDriver)],
        )
    }
}

impl Compiler {
    /// Creates a compiler with these targets and drivers. Where a template has code for several engines, the first driver
    /// wins.
    pub fn new(
        targets: impl IntoIterator<Item = Arc<dyn Target>>,
        drivers: impl IntoIterator<Item = Arc<dyn Driver>>,
    ) -> Self {
        Self {
            targets: targets.into_iter().map(KnownTarget::new).collect(),
            drivers: drivers.into_iter().collect(),
            compares: false,
            points: Arc::new(EnforcementPoint::GATEKEEPER),
        }
    }

    /// Adds enforcement points of an embedder to Gatekeeper's; `*` in a constraint means them too.
    #[must_use]
    pub fn with_enforcement_points(mut self, points: impl IntoIterator<Item = EnforcementPoint>) -> Self {
        self.points = self.points.iter().copied().chain(points).collect();
        self
    }

    /// Keeps only the drivers of one engine, `Rego` or `K8sNativeValidation`: templates without code for it are refused.
    #[must_use]
    pub fn only(mut self, engine: &str) -> Self {
        self.drivers = self.drivers.iter().filter(|driver| driver.engine() == engine).cloned().collect();
        self
    }

    /// Sets the listener for what policies in Rego print.
    #[must_use]
    pub fn with_print_listener(mut self, listener: &Arc<dyn PrintListener>) -> Self {
        let listening =
            |driver: &Arc<dyn Driver>| driver.with_print_listener(listener).unwrap_or_else(|| driver.clone());
        self.drivers = self.drivers.iter().map(listening).collect();
        self
    }

    /// Compiles the code of every engine, so that [`PolicySet::disagreements`](super::PolicySet::disagreements) can
    /// compare them. The first driver decides all the same.
    #[must_use]
    pub fn comparing(mut self) -> Self {
        self.compares = true;
        self
    }

    /// Compiles a template's code and checks that its constraint CRD can be built.
    ///
    /// # Errors
    /// See [`IngestError`].
    pub fn compile(&self, template: &ConstraintTemplate) -> Result<CompiledTemplate, IngestError> {
        let known = self.target(template)?;
        known.crds().check(&parts(template))?;
        let programs = self.programs(template)?;
        Ok(CompiledTemplate::new(
            template,
            known.target.clone(),
            programs,
            known.crds().clone(),
            self.points.clone(),
        ))
    }

    /// Builds the constraint CRD of a template, as a JSON object ready to be applied.
    ///
    /// # Errors
    /// An unknown target, or everything that the API server would refuse about the CRD.
    pub fn crd(&self, template: &ConstraintTemplate) -> Result<Value, IngestError> {
        Ok(self.target(template)?.crds().build(&parts(template))?)
    }

    /// Checks the actions and the match block of a constraint, which need no template. The API server checks the
    /// parameters, by the constraint CRD.
    ///
    /// # Errors
    /// Everything that is wrong with either.
    pub fn check_constraint(&self, constraint: &Constraint, target: &dyn Target) -> Result<(), FieldErrors> {
        common_parts(&ConstraintSpec::from_value(&constraint.spec)?, target, &self.points).map(drop)
    }

    fn target(&self, template: &ConstraintTemplate) -> Result<&KnownTarget, IngestError> {
        let name = template.target().map(|target| target.target.as_str()).unwrap_or_default();
        self.targets.iter().find(|known| known.target.name() == name).ok_or_else(|| {
            IngestError::UnknownTarget {
                name: name.to_owned(),
                known: self.targets.iter().map(|known| known.target.name()).collect::<Vec<_>>().join(", "),
            }
        })
    }

    /// Returns the target of a template.
    pub(super) fn known(&self, template: &ConstraintTemplate) -> Result<&dyn Target, IngestError> {
        Ok(self.target(template)?.target.as_ref())
    }

    /// Returns the driver that decides for a template, and its source.
    pub(super) fn deciding<'a>(
        &'a self,
        template: &'a ConstraintTemplate,
    ) -> Result<(&'a dyn Driver, Value), IngestError> {
        let sources = template.target().map(crate::api::TargetSpec::sources).unwrap_or_default();
        let mut written = self.drivers.iter().filter_map(|driver| {
            let code = sources.iter().find(|code| code.engine == driver.engine())?;
            Some((driver.as_ref(), code.source.clone()))
        });
        written.next().ok_or_else(|| self.no_driver())
    }

    fn no_driver(&self) -> IngestError {
        let known = self.drivers.iter().map(|driver| driver.engine()).collect::<Vec<_>>().join(", ");
        IngestError::NoDriver { known }
    }

    /// Compiles the code that decides, and the code that it is compared with.
    fn programs(&self, template: &ConstraintTemplate) -> Result<Programs, IngestError> {
        let sources = template.target().map(crate::api::TargetSpec::sources).unwrap_or_default();
        let mut written = self.drivers.iter().filter_map(|driver| {
            let code = sources.iter().find(|code| code.engine == driver.engine())?;
            Some((driver, code))
        });
        let compile = |(driver, code): (&Arc<dyn Driver>, &crate::api::Code)| {
            let compiled = contained(|| driver.compile(&code.source)).ok_or(IngestError::CompilerFailed)?;
            let program = compiled.map_err(IngestError::Compile)?;
            Ok::<_, IngestError>((driver.engine().to_owned(), program))
        };
        let Some(first) = written.next() else {
            return Err(self.no_driver());
        };
        let others = if self.compares { written.map(compile).collect::<Result<_, _>>()? } else { Vec::new() };
        Ok(Programs { deciding: compile(first)?, others })
    }
}

impl KnownTarget {
    fn new(target: Arc<dyn Target>) -> Self {
        Self { target, crds: OnceLock::new() }
    }

    fn crds(&self) -> &Arc<ConstraintCrds> {
        self.crds.get_or_init(|| Arc::new(ConstraintCrds::new(self.target.match_schema())))
    }
}

fn parts(template: &ConstraintTemplate) -> CrdParts<'_> {
    CrdParts {
        template_name: &template.metadata.name,
        kind: template.constraint_kind(),
        short_names: &template.spec.crd.spec.names.short_names,
        labels: &template.metadata.labels,
        parameters: template.parameter_schema(),
        legacy_schema: template.legacy_schema(),
    }
}
