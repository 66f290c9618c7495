//! Tests of `switchboard`.
