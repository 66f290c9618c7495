//! Contracts between controllers: what objects of any kind must look like to play a role.
//!
//! A provider declares on its CustomResourceDefinition which of its versions keep which version of a contract, by
//! the label of Cluster API: `cluster.x-k8s.io/v1beta2: v1beta1_v1beta2`. A consumer knows some versions of the
//! contract, finds the newest one that both know, and reads through it.
//!
//! ```
//! use duck_types::contract::{Contract, FieldSpec, FieldType};
//! use duck_types::{duck_path, DuckType};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, DuckType)]
//! #[duck(path = "/status/ready")]
//! struct Ready(bool);
//!
//! let field = FieldSpec::read(duck_path!("/status/ready"), FieldType::Boolean);
//! let contract = Contract::<Ready>::new("machine", "cluster.x-k8s.io").version::<Ready>("v1beta1", [field]);
//! let crd = serde_json::json!({
//!     "metadata": {"labels": {"cluster.x-k8s.io/v1beta1": "v1"}},
//!     "spec": {
//!         "group": "example.com", "names": {"kind": "Box", "plural": "boxes"},
//!         "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
//!     },
//! });
//! let errors = contract.spec().check_crd(&crd).into_result().unwrap_err();
//! assert_eq!(errors.to_string(), "/status: not in the schema: declare it, or the API server drops it");
//! ```

mod bound;
mod check;
#[cfg(feature = "client")]
mod cluster;
mod compare;
mod difference;
mod discovery;
mod field;
mod impact;
mod place;
mod reader;
mod report;
mod schema;
mod spec;
mod yaml;

pub use check::check_crd;
#[cfg(feature = "client")]
pub use cluster::ListError;
pub use difference::{ContractChange, Effect};
pub use discovery::{DiscoverError, Provider};
pub use field::{FieldShape, FieldSpec, FieldType};
pub use impact::ContractImpact;
pub use reader::{Contract, ContractError};
pub use report::{
    ContractDiagnostic, ContractErrors, ContractVerdict, ContractViolation, FieldUse, Report, Unverified,
    ViolationKind,
};
pub use spec::{ContractScope, ContractSpec, VersionSpec};
