//! Builds an Event. Reasons, messages and annotations are Gatekeeper's.

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;
use kube::core::GroupVersion;
use sha2::{Digest as _, Sha256};

use super::{EventNamespace, Finder, ViolationEvent, annotations};
use crate::digest::{feed, short_hex};
use crate::text::beginning;

/// The longest message that an API server takes, in bytes.
const LONGEST: usize = 1024;

pub(super) fn event(
    notice: &ViolationEvent<'_>,
    finder: Finder,
    place: EventNamespace,
    operator: &str,
) -> Event {
    let subject = &notice.subject;
    let namespace = match place {
        EventNamespace::Object if !subject.namespace.is_empty() => subject.namespace,
        _ => operator,
    };
    let involved_object = involved(notice, place, namespace);
    let message = message(notice, place);
    let type_ = if notice.is_warning { "Warning" } else { "Normal" };
    let now = Time(Timestamp::now());
    Event {
        metadata: ObjectMeta {
            name: Some(name(&involved_object, finder, notice.reason, &message)),
            namespace: Some(namespace.to_owned()),
            annotations: Some(annotations(notice, finder)),
            ..ObjectMeta::default()
        },
        involved_object,
        reason: Some(notice.reason.to_owned()),
        message: Some(message),
        type_: Some(type_.to_owned()),
        source: Some(EventSource { component: Some(finder.component().to_owned()), host: None }),
        first_timestamp: Some(now.clone()),
        last_timestamp: Some(now),
        count: Some(1),
        ..Event::default()
    }
}

/// In the operator's namespace an object is told from others by a `uid` that is put together.
fn involved(notice: &ViolationEvent<'_>, place: EventNamespace, namespace: &str) -> ObjectReference {
    let subject = &notice.subject;
    let made = || {
        let constraint = notice.constraint;
        let parts = [subject.kind, subject.namespace, subject.name, &constraint.kind, "", &constraint.name];
        parts.join("/")
    };
    let (uid, resource_version) = match (place, subject.stored) {
        (EventNamespace::Object, stored) => {
            stored.map(|(uid, version)| (uid.to_owned(), version.to_owned())).unzip()
        }
        _ => (Some(made()), None),
    };
    let api_version = GroupVersion::gv(subject.group, subject.version).api_version();
    ObjectReference {
        api_version: Some(api_version),
        kind: Some(subject.kind.to_owned()),
        name: Some(subject.name.to_owned()),
        namespace: Some(namespace.to_owned()),
        uid,
        resource_version,
        ..ObjectReference::default()
    }
}

fn message(notice: &ViolationEvent<'_>, place: EventNamespace) -> String {
    let headline = Some(notice.headline.to_owned()).filter(|headline| !headline.is_empty());
    let namespace = match place {
        EventNamespace::Object => None,
        _ => Some(format!("Resource Namespace: {}", notice.subject.namespace)),
    };
    let constraint = format!("Constraint: {}", notice.constraint.name);
    let words = format!("Message: {}", notice.message);
    let parts: Vec<_> = headline.into_iter().chain(namespace).chain([constraint, words]).collect();
    beginning(&parts.join(", "), LONGEST).to_owned()
}

/// The same for everything that client-go's recorder takes for the same Event.
fn name(object: &ObjectReference, finder: Finder, reason: &str, message: &str) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (kind, version) = (text(&object.kind), text(&object.api_version));
    let (namespace, name, uid) = (text(&object.namespace), text(&object.name), text(&object.uid));
    let mut digest = Sha256::new();
    for part in [finder.component(), &version, &kind, &namespace, &name, &uid, reason, message] {
        feed(&mut digest, part);
    }
    format!("{}.{}", finder.component(), short_hex(digest))
}

#[cfg(test)]
mod tests {
    use constraint_framework::api::ConstraintRef;

    use super::super::Subject;
    use super::*;

    fn made(place: EventNamespace, subject: Subject<'_>, message: &str) -> Event {
        let constraint = ConstraintRef { kind: "NeedsLabel".to_owned(), name: "a".to_owned() };
        let notice = ViolationEvent {
            reason: "FailedAdmission",
            is_warning: true,
            headline: "Admission webhook \"validation.gatekeeper.sh\" denied request",
            constraint: &constraint,
            action: "deny",
            message,
            subject,
            event_type: "violation",
            annotations: &[("request_username", "alice")],
        };
        event(&notice, Finder::Admission, place, "gatekeeper-system")
    }

    const POD: Subject<'static> = Subject {
        group: "",
        version: "v1",
        kind: "Pod",
        namespace: "shop",
        name: "web",
        stored: Some(("u", "7")),
    };

    #[test]
    fn in_the_operators_namespace_the_message_names_the_objects_namespace() {
        let event = made(EventNamespace::Operator, POD, "no label");
        assert_eq!(event.metadata.namespace.as_deref(), Some("gatekeeper-system"));
        assert_eq!(event.involved_object.namespace.as_deref(), Some("gatekeeper-system"));
        assert_eq!(event.involved_object.uid.as_deref(), Some("Pod/shop/web/NeedsLabel//a"));
        assert_eq!(
            event.message.as_deref(),
            Some(
                "Admission webhook \"validation.gatekeeper.sh\" denied request, Resource Namespace: shop, \
                 Constraint: a, Message: no label"
            )
        );
        let annotations = event.metadata.annotations.unwrap();
        for (name, value) in
            [("process", "admission"), ("resource_name", "web"), ("request_username", "alice")]
        {
            assert_eq!(annotations[name], value);
        }
    }

    #[test]
    fn beside_the_object_it_is_about_the_object_itself() {
        let event = made(EventNamespace::Object, POD, "no label");
        assert_eq!(event.metadata.namespace.as_deref(), Some("shop"));
        let involved = event.involved_object;
        assert_eq!((involved.uid.as_deref(), involved.resource_version.as_deref()), (Some("u"), Some("7")));
        assert!(event.message.unwrap().ends_with("denied request, Constraint: a, Message: no label"));
        let cluster = Subject { namespace: "", stored: None, ..POD };
        let event = made(EventNamespace::Object, cluster, "no label");
        assert_eq!(event.metadata.namespace.as_deref(), Some("gatekeeper-system"));
        assert_eq!(event.involved_object.uid, None);
    }

    #[test]
    fn the_name_follows_from_what_is_said() {
        let name = |subject, message| made(EventNamespace::Operator, subject, message).metadata.name.unwrap();
        let first = name(POD, "no label");
        assert_eq!(first, name(POD, "no label"));
        assert_ne!(first, name(POD, "another"));
        assert_ne!(first, name(Subject { name: "other", ..POD }, "no label"));
        assert_ne!(first, name(Subject { namespace: "other", ..POD }, "no label"));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let message = made(EventNamespace::Operator, POD, &"é".repeat(1000)).message.unwrap();
        assert!((LONGEST - 1..=LONGEST).contains(&message.len()), "{}", message.len());
    }
}
