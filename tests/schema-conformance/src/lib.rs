//! Holds `schema-merge`'s verdicts against a real API server. All of it is in `tests/`.
