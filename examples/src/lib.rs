//! The controller patterns, each a small program.
