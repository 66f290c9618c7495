//! The policy operator composed of the crates of this workspace.
