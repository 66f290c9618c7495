//! The comments of a module, found between the tokens of its text. What annotations say is `crate::annotation`.

use data_encoding::BASE64;

use crate::error::EvalError;
use crate::lexer::lex;
use crate::value::Value;

use super::{Writer, Written};

impl Writer<'_> {
    pub(super) fn comments(&self) -> Result<Vec<Value>, EvalError> {
        let mut comments = Vec::new();
        let mut begin = 0;
        for token in lex(&self.source.text).unwrap_or_default() {
            self.comments_between(begin, token.start, &mut comments)?;
            begin = token.end;
        }
        Ok(comments)
    }

    /// Those in a part of the text that holds nothing but white space besides.
    fn comments_between(&self, begin: u32, end: u32, found: &mut Vec<Value>) -> Result<(), EvalError> {
        let within = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
        let Some(gap) = within.and_then(|(begin, end)| self.source.text.get(begin..end)) else {
            return Ok(());
        };
        let mut line_at = begin;
        for line in gap.split_inclusive('\n') {
            if let Some((blank, text)) = line.split_once('#') {
                let at = line_at.saturating_add(offset(blank));
                found.push(self.comment(at, text.strip_suffix('\n').unwrap_or(text))?);
            }
            line_at = line_at.saturating_add(offset(line));
        }
        Ok(())
    }

    fn comment(&self, at: u32, text: &str) -> Written {
        let (row, column) = self.source.place(at);
        self.meter.charge(text.len().saturating_mul(2))?;
        let place = self.record([
            ("file", Value::from(&*self.source.name)),
            ("row", Value::from(u64::from(row))),
            ("col", Value::from(u64::from(column))),
        ])?;
        self.record([("Text", encoded(text)), ("Location", place)])
    }
}

/// Returns the text in Base64. Carriage returns at its end are not part of it, save where it has nothing else.
fn encoded(text: &str) -> Value {
    if text == "\r" {
        return Value::Null;
    }
    let trimmed = text.trim_end_matches('\r');
    let text = if trimmed.is_empty() { text.get(..1).unwrap_or(text) } else { trimmed };
    Value::from(BASE64.encode(text.as_bytes()))
}

fn offset(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
