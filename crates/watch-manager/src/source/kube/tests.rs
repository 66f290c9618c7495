//! Tests of `source/kube`.
