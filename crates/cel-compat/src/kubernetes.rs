//! Kubernetes' declarations: the names that stand for types, and the fields of the request and of the namespace.

use crate::types::Type;

const REQUEST: &str = "kubernetes.AdmissionRequest";
const NAMESPACE: &str = "kubernetes.Namespace";

impl Type {
    /// The admission request without its objects.
    pub const REQUEST: Self = Self::Object(REQUEST);
    /// A Namespace as policies see it.
    pub const NAMESPACE: Self = Self::Object(NAMESPACE);
}

/// The value of a name that stands for a type, such as `string`.
pub(crate) fn type_name(name: &str) -> Option<&'static str> {
    let names = [
        "bool",
        "bytes",
        "double",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "int",
        "list",
        "map",
        "net.CIDR",
        "net.IP",
        "null_type",
        "optional_type",
        "string",
        "type",
        "uint",
    ];
    names.into_iter().find(|known| *known == name)
}

/// The type of a field of a declared object; `None` when it has no such field.
///
/// These are the declarations of the API server's admission plugins. They leave out `uid`, the objects, and most of a
/// Namespace's metadata.
pub(crate) fn field(object: &str, field: &str) -> Option<Type> {
    let strings = || Type::list(Type::String);
    let text_map = || Type::map(Type::String, Type::String);
    Some(match (object, field) {
        (REQUEST, "kind" | "requestKind") => Type::Object("kubernetes.GroupVersionKind"),
        (REQUEST, "resource" | "requestResource") => Type::Object("kubernetes.GroupVersionResource"),
        (REQUEST, "subResource" | "requestSubResource" | "name" | "namespace" | "operation") => Type::String,
        (REQUEST, "userInfo") => Type::Object("kubernetes.UserInfo"),
        (REQUEST, "dryRun") => Type::Bool,
        (REQUEST, "options") => Type::Dyn,
        ("kubernetes.GroupVersionKind", "group" | "version" | "kind")
        | ("kubernetes.GroupVersionResource", "group" | "version" | "resource")
        | ("kubernetes.UserInfo", "username" | "uid") => Type::String,
        ("kubernetes.UserInfo", "groups") => strings(),
        ("kubernetes.UserInfo", "extra") => Type::map(Type::String, strings()),
        (NAMESPACE, "metadata") => Type::Object("kubernetes.NamespaceMetadata"),
        (NAMESPACE, "spec") => Type::Object("kubernetes.NamespaceSpec"),
        (NAMESPACE, "status") => Type::Object("kubernetes.NamespaceStatus"),
        ("kubernetes.NamespaceMetadata", "labels" | "annotations") => text_map(),
        ("kubernetes.NamespaceMetadata", "creationTimestamp" | "deletionTimestamp") => Type::Timestamp,
        ("kubernetes.NamespaceMetadata", "deletionGracePeriodSeconds" | "generation") => Type::Int,
        ("kubernetes.NamespaceMetadata" | "kubernetes.NamespaceSpec", "finalizers") => strings(),
        (
            "kubernetes.NamespaceMetadata",
            "name" | "generateName" | "namespace" | "UID" | "resourceVersion",
        ) => Type::String,
        ("kubernetes.NamespaceStatus", "phase") => Type::String,
        ("kubernetes.NamespaceStatus", "conditions") => {
            Type::list(Type::Object("kubernetes.NamespaceCondition"))
        }
        ("kubernetes.NamespaceCondition", "status" | "type" | "message" | "reason") => Type::String,
        ("kubernetes.NamespaceCondition", "lastTransitionTime") => Type::Timestamp,
        _ => return None,
    })
}
