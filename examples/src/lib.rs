//! The controller patterns, each a small program under `examples/`, run by a test and by you:
//!
//! ```sh
//! cargo run -p examples --example dynamic_controller  # kinds that a ConfigMap names, in one namespace
//! cargo run -p examples --example watch_manager   # kinds that come and go, one store each
//! cargo run -p examples --example duck_reader     # one typed sub-tree of any kind
//! cargo run -p examples --example duck_constraints # constraints of any kind, and an edit of one
//! cargo run -p examples --example duck_contract   # one contract, two providers in two versions of it
//! cargo run -p examples --example duck_sink       # where to send events: an Addressable of any kind
//! cargo run -p examples --example pod_status      # what each pod reports, folded
//! cargo run -p examples --example terraform_plan  # constraints on a Terraform plan
//! cargo run -p examples --example gcp_asset       # constraints on Google Cloud assets
//! ```
//!
//! They run offline; `--cluster` takes the cluster of your kubeconfig where an example has it.
