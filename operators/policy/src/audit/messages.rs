//! The messages of violations, kept once each.
//!
//! Most messages differ only in the name of the object: `container <a> of web-1 runs as root`, `… of web-2 …`. Name and
//! namespace are therefore taken out before a message is kept, and put back when it is read: a hundred thousand replicas
//! share one message.

use std::collections::HashSet;
use std::sync::Arc;

use super::place::Place;

const NAME: char = '\u{1}';
const NAMESPACE: char = '\u{2}';
/// Shorter names occur inside other words all the time, so that taking them out saves nothing.
const SHORTEST: usize = 3;
/// The end of a message that was cut, as Gatekeeper has it.
const CUT: &str = "...";

/// A message without the name and the namespace of its object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Message(Arc<str>);

/// The messages that are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    kept: HashSet<Arc<str>>,
    /// Messages that are no longer referred to are looked for when there are this many.
    sweep_at: usize,
}

impl Messages {
    /// The message of a violation by the object at `place`.
    pub(super) fn keep(&mut self, message: &str, place: &Place) -> Message {
        let text = shorten(message, place);
        if let Some(kept) = self.kept.get(text.as_str()) {
            return Message(Arc::clone(kept));
        }
        if self.kept.len() >= self.sweep_at.max(1024) {
            self.kept.retain(|kept| Arc::strong_count(kept) > 1);
            self.sweep_at = self.kept.len().saturating_mul(2);
        }
        let kept: Arc<str> = text.into();
        self.kept.insert(Arc::clone(&kept));
        Message(kept)
    }
}

impl Message {
    /// The message as the policy gave it.
    pub(super) fn read(&self, place: &Place) -> String {
        match self.0.strip_prefix(NAME) {
            // As it is: it holds one of the marks itself.
            Some(raw) if self.0.starts_with([NAME, NAME]) => raw.strip_prefix(NAME).unwrap_or(raw).to_owned(),
            _ => self.0.replace(NAME, &place.name).replace(NAMESPACE, &place.namespace),
        }
    }
}

fn shorten(message: &str, place: &Place) -> String {
    if message.contains([NAME, NAMESPACE]) {
        return format!("{NAME}{NAME}{message}");
    }
    let mut text = message.to_owned();
    for (part, mark) in [(&place.name, NAME), (&place.namespace, NAMESPACE)] {
        if part.len() >= SHORTEST {
            text = text.replace(&**part, &mark.to_string());
        }
    }
    // Two names in a row at the start would read as a message that is kept as it is.
    if text.starts_with([NAME, NAME]) { format!("{NAME}{NAME}{message}") } else { text }
}

/// The message in at most `longest` bytes; one that is cut ends with dots. No character is cut in two.
pub(super) fn cut(message: &str, longest: usize) -> String {
    if message.len() <= longest {
        return message.to_owned();
    }
    let kept = longest.saturating_sub(CUT.len());
    let end = (0..=kept).rev().find(|end| message.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{CUT}", message.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audit::place::AuditedKind;

    fn place(namespace: &str, name: &str) -> Place {
        let kind = AuditedKind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespaced: true,
            stay: 0,
        };
        Place { kind: Arc::new(kind), namespace: namespace.into(), name: name.into() }
    }

    #[test]
    fn replicas_share_a_message() {
        let mut messages = Messages::default();
        let of = |name: &str| format!("container a of {name} in shop has no limits");
        let one = messages.keep(&of("web-1"), &place("shop", "web-1"));
        let two = messages.keep(&of("web-2"), &place("shop", "web-2"));
        assert!(Arc::ptr_eq(&one.0, &two.0));
        assert_eq!(two.read(&place("shop", "web-2")), of("web-2"));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(cut("short", 256), "short");
        let exact = "x".repeat(256);
        assert_eq!(cut(&exact, 256), exact);
        assert_eq!(cut(&"x".repeat(257), 256), format!("{}...", "x".repeat(253)));
        assert_eq!(cut(&"é".repeat(200), 256), format!("{}...", "é".repeat(126)));
    }

    proptest! {
        #[test]
        fn every_message_is_read_as_it_was_given(
            message in "[ab\u{1}\u{2}]{0,12}", namespace in "[ab]{0,4}", name in "[ab\u{2}]{1,4}",
        ) {
            let place = place(&namespace, &name);
            prop_assert_eq!(Messages::default().keep(&message, &place).read(&place), message);
        }
    }
}
