//! Reads and writes a typed sub-tree of an unstructured Kubernetes resource.
