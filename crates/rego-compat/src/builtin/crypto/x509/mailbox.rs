//! Mailboxes, as Go reads them in certificates (RFC 2821).

/// A mailbox, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mailbox {
    pub(super) local: String,
    pub(super) domain: String,
}

impl Mailbox {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (local, rest) = match text.strip_prefix('"') {
            Some(quoted) => quoted_local(quoted)?,
            None => plain_local(text)?,
        };
        let domain = rest.strip_prefix('@')?;
        let labels_are_valid = domain
            .split('.')
            .all(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_graphic()));
        (domain.is_empty() || labels_are_valid).then(|| Self { local, domain: domain.to_owned() })
    }
}

fn quoted_local(text: &str) -> Option<(String, &str)> {
    let (mut local, mut characters) = (String::new(), text.chars());
    loop {
        match characters.next()? {
            '"' => return Some((local, characters.as_str())),
            '\\' => {
                local.push(characters.next().filter(|c| c.is_ascii() && !matches!(c, '\0' | '\n' | '\r'))?)
            }
            c if c.is_ascii() && !matches!(c, '\0' | '\t' | '\n' | '\r') => local.push(c),
            _ => return None,
        }
    }
}

fn plain_local(text: &str) -> Option<(String, &str)> {
    let (mut local, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let taken = if first == '\\' { rest.chars().nth(1)? } else { first };
        if first != '\\' && !first.is_ascii_alphanumeric() && !"!#$%&'*+-/=?^_`{|}~.".contains(first) {
            break;
        }
        rest = if first == '\\' { rest.strip_prefix('\\')? } else { rest };
        local.push(taken);
        rest = rest.strip_prefix(taken)?;
    }
    let sound =
        !local.is_empty() && !local.starts_with('.') && !local.ends_with('.') && !local.contains("..");
    sound.then_some((local, rest))
}
