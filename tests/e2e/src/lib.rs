//! End-to-end tests of the operator on a real API server.
