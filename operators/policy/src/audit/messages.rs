//! The messages of violations, kept once each.
//!
//! Most messages differ only in the name of the object: `container <a> of web-1 runs as root`, `… of web-2 …`. Name and
//! namespace are therefore taken out before a message is kept, and put back when it is read: a hundred thousand replicas
//! share one message. A violation has its number, of four bytes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::place::Place;
use crate::text::beginning;

const NAME: char = '\u{1}';
const NAMESPACE: char = '\u{2}';
/// Shorter names occur inside other words all the time, so that taking them out saves nothing.
const SHORTEST: usize = 3;
/// The end of a message that was cut, as Gatekeeper has it.
const CUT: &str = "...";

/// The fewest messages among which unused ones are looked for.
const FEW: usize = 1024;

/// The number of a message without the name and the namespace of its object. Equal messages have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Message(u32);

/// The messages that are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    /// By number; a number that is free has no text.
    texts: Vec<Option<Arc<str>>>,
    numbers: HashMap<Arc<str>, Message>,
    free: Vec<u32>,
    /// Messages that are no longer referred to are looked for when there are this many.
    sweep_at: usize,
}

impl Messages {
    /// The message of a violation by the object at `place`.
    pub(super) fn keep(&mut self, message: &str, place: &Place) -> Message {
        let text = shorten(message, place);
        if let Some(kept) = self.numbers.get(text.as_str()) {
            return *kept;
        }
        let text: Arc<str> = text.into();
        let number = match self.free.pop() {
            Some(number) => number,
            // There is no memory for as many messages as there are numbers.
            None => u32::try_from(self.texts.len()).unwrap_or(u32::MAX),
        };
        match self.texts.get_mut(index(number)) {
            Some(free) => *free = Some(Arc::clone(&text)),
            None => self.texts.push(Some(Arc::clone(&text))),
        }
        self.numbers.insert(text, Message(number));
        Message(number)
    }

    /// The message as the policy gave it about the object at `place`.
    pub(super) fn read(&self, Message(number): Message, place: &Place) -> String {
        let text = self.texts.get(index(number)).and_then(Option::as_deref).unwrap_or_default();
        match text.strip_prefix(NAME) {
            // As it is: it holds one of the marks itself.
            Some(raw) if text.starts_with([NAME, NAME]) => raw.strip_prefix(NAME).unwrap_or(raw).to_owned(),
            _ => text.replace(NAME, place.name()).replace(NAMESPACE, place.namespace()),
        }
    }

    /// Returns true if there are so many that those which nothing refers to should be forgotten.
    pub(super) fn are_many(&self) -> bool {
        self.numbers.len() >= self.sweep_at.max(FEW)
    }

    /// Forgets all messages but these.
    pub(super) fn retain(&mut self, used: &BTreeSet<Message>) {
        self.numbers.retain(|_, message| used.contains(message));
        for (text, number) in self.texts.iter_mut().zip(0..) {
            if text.is_some() && !used.contains(&Message(number)) {
                *text = None;
                self.free.push(number);
            }
        }
        self.sweep_at = self.numbers.len().saturating_mul(2);
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn shorten(message: &str, place: &Place) -> String {
    if message.contains([NAME, NAMESPACE]) {
        return format!("{NAME}{NAME}{message}");
    }
    let mut text = message.to_owned();
    for (part, mark) in [(place.name(), NAME), (place.namespace(), NAMESPACE)] {
        if part.len() >= SHORTEST {
            text = text.replace(part, &mark.to_string());
        }
    }
    // Two names in a row at the start would read as a message that is kept as it is.
    if text.starts_with([NAME, NAME]) { format!("{NAME}{NAME}{message}") } else { text }
}

/// The message in at most `longest` bytes; one that is cut ends with dots.
pub(super) fn cut(message: &str, longest: usize) -> String {
    if message.len() <= longest {
        return message.to_owned();
    }
    format!("{}{CUT}", beginning(message, longest.saturating_sub(CUT.len())))
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
        Place::of(&Arc::new(kind), namespace, name)
    }

    #[test]
    fn replicas_share_a_message() {
        let mut messages = Messages::default();
        let of = |name: &str| format!("container a of {name} in shop has no limits");
        let one = messages.keep(&of("web-1"), &place("shop", "web-1"));
        let two = messages.keep(&of("web-2"), &place("shop", "web-2"));
        assert_eq!(one, two);
        assert_eq!(messages.read(two, &place("shop", "web-2")), of("web-2"));
    }

    #[test]
    fn numbers_of_messages_that_nothing_refers_to_are_used_again() {
        let (mut messages, web) = (Messages::default(), place("shop", "web"));
        let kept: Vec<_> = (0..FEW).map(|number| messages.keep(&number.to_string(), &web)).collect();
        assert!(messages.are_many());
        messages.retain(&BTreeSet::from([kept[7], kept[9]]));
        assert!(!messages.are_many());
        let new: Vec<_> = (0..FEW).map(|number| messages.keep(&format!("new {number}"), &web)).collect();
        assert_eq!((messages.read(kept[7], &web), messages.read(kept[9], &web)), ("7".into(), "9".into()));
        assert_eq!(messages.read(new[FEW - 1], &web), format!("new {}", FEW - 1));
        assert_eq!(messages.texts.len(), FEW + 2);
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
            let mut messages = Messages::default();
            let kept = messages.keep(&message, &place);
            prop_assert_eq!(messages.read(kept, &place), message);
        }
    }
}
