//! The routes of the API: what a method and a path ask for.

use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Method, header};
use kube::core::{Expression, GroupVersionKind, Selector};

use crate::source::Page;

/// A request.
pub(super) enum Route {
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    Version {
        group: String,
        version: String,
    },
    List(Resource),
    Watch(Resource, String, Duration),
    /// A watch that begins with the existing objects.
    StreamingList,
    Get(Resource, String),
    Write(Resource, Write),
}

/// A request that changes an object.
pub(super) enum Write {
    Create,
    Replace {
        name: String,
        status: bool,
    },
    Patch {
        name: String,
        status: bool,
        form: PatchForm,
    },
    Delete {
        name: String,
    },
    /// All objects that the selectors select.
    DeleteCollection,
}

/// The meaning of the body of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchForm {
    /// RFC 7386. Strategic merge patches and server-side apply are treated like it.
    Merge,
    /// RFC 6902.
    Json,
}

/// The resource of a path, and the parameters of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespace: Option<Box<str>>,
    pub(super) labels: Selector,
    pub(super) fields: Option<Box<str>>,
    pub(super) metadata_only: bool,
    pub(super) page: Page,
    pub(super) dry_run: bool,
}

// === impl Route ===

impl Route {
    pub(super) fn parse(request: &Parts) -> Option<Self> {
        let segments: Vec<&str> = request.uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api"] => return Some(Self::Core),
            ["apis"] => return Some(Self::Groups),
            ["api", version, rest @ ..] => ("", version, rest),
            ["apis", group, version, rest @ ..] => (*group, version, rest),
            _ => return None,
        };
        let (group, version) = (group.to_owned(), (*version).to_owned());
        let (namespace, rest) = match rest {
            [] => return Some(Self::Version { group, version }),
            ["namespaces", namespace, plural, rest @ ..] if *plural != "status" => {
                (Some(*namespace), [&[*plural], rest].concat())
            }
            rest => (None, rest.to_vec()),
        };
        let (plural, rest) = rest.split_first()?;
        let mut resource = Resource { group, version, plural: (*plural).to_owned(), ..Resource::default() };
        resource.namespace = namespace.map(Into::into);
        let query = request.uri.query().unwrap_or_default();
        let parameters: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        resource.read(&parameters, request);
        let content = request.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let form = match content.is_some_and(|content| content.starts_with(b"application/json-patch+json")) {
            true => PatchForm::Json,
            false => PatchForm::Merge,
        };
        Self::of((request.method.clone(), form), resource, rest, &parameters)
    }

    fn of(
        (method, form): (Method, PatchForm),
        resource: Resource,
        rest: &[&str],
        parameters: &[(String, String)],
    ) -> Option<Self> {
        let find = |name| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let name = rest.first().map(|name| (*name).to_owned());
        let status = rest.get(1) == Some(&"status");
        Some(match (method, name) {
            (Method::GET, None) if find("sendInitialEvents") == Some("true") => Self::StreamingList,
            (Method::GET, None) if matches!(find("watch"), Some("true" | "1")) => {
                let timeout = find("timeoutSeconds").and_then(|text| text.parse().ok()).unwrap_or(290);
                let version = find("resourceVersion").unwrap_or_default().to_owned();
                Self::Watch(resource, version, Duration::from_secs(timeout))
            }
            (Method::GET, None) => Self::List(resource),
            (Method::GET, Some(name)) => Self::Get(resource, name),
            (Method::POST, None) => Self::Write(resource, Write::Create),
            (Method::PUT, Some(name)) => Self::Write(resource, Write::Replace { name, status }),
            (Method::PATCH, Some(name)) => Self::Write(resource, Write::Patch { name, status, form }),
            (Method::DELETE, Some(name)) => Self::Write(resource, Write::Delete { name }),
            (Method::DELETE, None) => Self::Write(resource, Write::DeleteCollection),
            _ => return None,
        })
    }
}

// === impl Resource ===

impl Resource {
    pub(super) fn gvk(&self, kind: &str) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, kind)
    }

    fn read(&mut self, parameters: &[(String, String)], request: &Parts) {
        for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
            match name.as_str() {
                "labelSelector" => self.labels = labels(value),
                "fieldSelector" => self.fields = Some(value.as_str().into()),
                "limit" => self.page.limit = value.parse().ok(),
                "dryRun" => self.dry_run = value == "All",
                "continue" => self.page.continue_token = Some(value.clone()),
                _ => {}
            }
        }
        let accept = request.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        self.metadata_only = accept.is_some_and(|accept| accept.contains("as=PartialObjectMetadata"));
    }
}

/// A label selector, as `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
fn labels(text: &str) -> Selector {
    let mut depth = 0_u32;
    let terms = text.split(move |character| {
        match character {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    terms.map(str::trim).filter(|term| !term.is_empty()).map(expression).collect()
}

fn expression(term: &str) -> Expression {
    let owned = |text: &str| text.trim().to_owned();
    if let Some((head, values)) = term.split_once('(') {
        let values = values.trim_end_matches(')').split(',').map(owned).collect();
        return match head.trim_end().strip_suffix(" notin") {
            Some(key) => Expression::NotIn(owned(key), values),
            None => Expression::In(owned(head.trim_end().trim_end_matches(" in")), values),
        };
    }
    if let Some((key, value)) = term.split_once("!=") {
        return Expression::NotEqual(owned(key), owned(value));
    }
    match (term.split_once('='), term.strip_prefix('!')) {
        (Some((key, value)), _) => Expression::Equal(owned(key), owned(value.trim_start_matches('='))),
        (None, Some(key)) => Expression::DoesNotExist(owned(key)),
        (None, None) => Expression::Exists(term.to_owned()),
    }
}
