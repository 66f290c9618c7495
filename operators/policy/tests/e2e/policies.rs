//! The ten policies of the examples hold on a cluster.

use crate::cluster::workspace;
use crate::trial::{Policy, check};

const OWN: [&str; 10] = [
    "allowed-repositories",
    "block-nodeport",
    "container-limits",
    "host-namespaces",
    "image-digests",
    "privileged-containers",
    "required-labels",
    "required-probes",
    "unique-ingress-host",
    "unique-service-selector",
];
#[tokio::test]
async fn the_policies_of_the_examples_hold_on_a_cluster() {
    let root = workspace("examples/policies");
    check(OWN.map(|name| Policy::read(root.join(name))).into()).await;
}
