//! The text of queries and schemas taken apart (`gqlparser/lexer`).

/// One part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// One of `!$&():=@[]{}|`
    Sign(char),
    Spread,
    Name(String),
    Int(String),
    Float(String),
    Text(String),
    Block(String),
    Comment(String),
}

/// Returns the tokens of a document; `None` where a part of it is not a token.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer { rest: text };
    let mut tokens = Vec::new();
    loop {
        lexer.rest = lexer.rest.trim_start_matches(['\t', ' ', ',', '\n', '\r', '\u{feff}']);
        if lexer.rest.is_empty() {
            return Some(tokens);
        }
        tokens.push(lexer.token()?);
    }
}

struct Lexer<'t> {
    rest: &'t str,
}

impl<'t> Lexer<'t> {
    fn token(&mut self) -> Option<Token> {
        let first = self.rest.chars().next()?;
        match first {
            '!' | '$' | '&' | '(' | ')' | ':' | '=' | '@' | '[' | ']' | '{' | '}' | '|' => {
                self.rest = self.rest.get(1..)?;
                Some(Token::Sign(first))
            }
            '.' => {
                self.rest = self.rest.strip_prefix("...")?;
                Some(Token::Spread)
            }
            '#' => {
                let end = |c: char| c <= '\u{1f}' && c != '\t';
                Some(Token::Comment(self.until(end)?.to_owned()))
            }
            '_' | 'a'..='z' | 'A'..='Z' => {
                let end = |c: char| c != '_' && !c.is_ascii_alphanumeric();
                Some(Token::Name(self.until(end)?.to_owned()))
            }
            '-' | '0'..='9' => self.number(),
            '"' if self.rest.starts_with("\"\"\"") => self.block().map(Token::Block),
            '"' => self.text().map(Token::Text),
            _ => None,
        }
    }

    /// Reads up to a character, or to the end.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> Option<&'t str> {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(taken)
    }

    fn accept(&mut self, characters: [char; 2]) -> bool {
        let rest = self.rest.strip_prefix(characters);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn digits(&mut self) -> usize {
        self.until(|c| !c.is_ascii_digit()).map_or(0, str::len)
    }

    fn number(&mut self) -> Option<Token> {
        let start = self.rest;
        self.accept(['-', '-']);
        let leads_with_zero = self.rest.starts_with('0');
        let count = self.digits();
        if count == 0 || (leads_with_zero && count > 1) {
            return None;
        }
        let mut is_float = false;
        if self.accept(['.', '.']) {
            is_float = true;
            (self.digits() > 0).then_some(())?;
        }
        if self.accept(['e', 'E']) {
            is_float = true;
            self.accept(['-', '+']);
            (self.digits() > 0).then_some(())?;
        }
        let text = start.get(..start.len().saturating_sub(self.rest.len()))?.to_owned();
        Some(if is_float { Token::Float(text) } else { Token::Int(text) })
    }

    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.get(1..)?.chars();
        loop {
            match characters.next()? {
                '"' => {
                    self.rest = characters.as_str();
                    return Some(text);
                }
                '\\' => match characters.next()? {
                    quoted @ ('"' | '/' | '\\') => text.push(quoted),
                    'b' => text.push('\u{8}'),
                    'f' => text.push('\u{c}'),
                    'n' => text.push('\n'),
                    'r' => text.push('\r'),
                    't' => text.push('\t'),
                    'u' => {
                        let (digits, rest) = characters.as_str().split_at_checked(4)?;
                        // The library wants something behind the digits, and takes halves of pairs one by one.
                        let is_code = digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && !rest.is_empty();
                        let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_code)?;
                        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                        characters = rest.chars();
                    }
                    _ => return None,
                },
                character if character < ' ' && character != '\t' => return None,
                character => text.push(character),
            }
        }
    }

    fn block(&mut self) -> Option<String> {
        let mut raw = String::new();
        let mut rest = self.rest.get(3..)?;
        loop {
            if let Some(after) = rest.strip_prefix("\\\"\"\"") {
                raw.push_str("\"\"\"");
                rest = after;
                continue;
            }
            let quotes = rest.len().saturating_sub(rest.trim_start_matches('"').len());
            if quotes >= 3 {
                raw.extend(std::iter::repeat_n('"', quotes.saturating_sub(3)));
                self.rest = rest.get(quotes..)?;
                return Some(block_text(&raw));
            }
            let mut characters = rest.chars();
            match characters.next()? {
                '\r' => raw.push('\n'),
                character @ ('\t' | '\n') => raw.push(character),
                character if character < ' ' => return None,
                character => raw.push(character),
            }
            let after = characters.as_str();
            rest = if rest.starts_with("\r\n") { after.get(1..)? } else { after };
        }
    }
}

/// Returns a block without the indentation that its lines share, and without empty lines at either end.
fn block_text(raw: &str) -> String {
    let blank = |line: &str| line.trim_start_matches([' ', '\t']).is_empty();
    let indent = |line: &&str| line.len().saturating_sub(line.trim_start_matches([' ', '\t']).len());
    let lines: Vec<&str> = raw.split('\n').collect();
    let common = lines.iter().filter(|line| !blank(line)).map(indent).min().unwrap_or(0);
    let mut lines: Vec<&str> = lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| if at == 0 { line } else { line.get(common..).unwrap_or("") })
        .collect();
    while lines.last().is_some_and(|line| blank(line)) {
        lines.pop();
    }
    let first = lines.iter().position(|line| !blank(line)).unwrap_or(0);
    lines.get(first..).unwrap_or(&[]).join("\n")
}
