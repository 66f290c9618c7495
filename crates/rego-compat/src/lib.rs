//! OPA's Rego, exactly, on regorus.
