//! `regex.template_match`. Source: OPA `topdown/regex_template.go`; patterns are Go's, see
//! [`go_compat::regexp`].

use std::rc::Rc;

use go_compat::regexp::{self, Regex};

use crate::value::Value;

use crate::builtin::Outcome;
use crate::builtin::operand::{self, CallError};

fn compiled(pattern: &str) -> Result<Rc<Regex>, CallError> {
    regexp::compile(pattern).map(|pattern| pattern.regex).map_err(|_| CallError::Failed)
}

/// `regex.template_match(template, text, start, end)`: between the delimiters are patterns, all else is itself.
pub(in crate::builtin) fn template_match(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|template| {
        let text = operand::string(args, 1)?;
        let (start, end) = (delimiter(args, 2)?, delimiter(args, 3)?);
        let pattern = template_pattern(template, start, end)?;
        Ok(Value::Bool(compiled(&pattern)?.is_match(text)))
    });
    answer.into()
}

fn delimiter(args: &[&Value], index: usize) -> Result<u8, CallError> {
    match operand::string(args, index)?.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(CallError::Failed),
    }
}

fn template_pattern(template: &str, start: u8, end: u8) -> Result<String, CallError> {
    let (mut pattern, mut level, mut opened, mut copied) = ("^".to_owned(), 0_usize, 0_usize, 0_usize);
    for (at, byte) in template.bytes().enumerate() {
        if byte == start {
            level = level.saturating_add(1);
            opened = if level == 1 { at } else { opened };
        } else if byte == end {
            level = level.checked_sub(1).ok_or(CallError::Failed)?;
            if level == 0 {
                let inner = template.get(opened.saturating_add(1)..at).ok_or(CallError::Failed)?;
                compiled(&format!("^{inner}$"))?;
                pattern.push_str(&regexp::quote_meta(template.get(copied..opened).ok_or(CallError::Failed)?));
                pattern.push_str(&format!("({inner})"));
                copied = at.saturating_add(1);
            }
        }
    }
    if level != 0 {
        return Err(CallError::Failed);
    }
    pattern.push_str(&regexp::quote_meta(template.get(copied..).ok_or(CallError::Failed)?));
    pattern.push('$');
    Ok(pattern)
}
