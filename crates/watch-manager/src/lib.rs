//! Watches the union of what its registrars ask for.
