//! Numbers, JSON and noise from a seed.

use serde_json::{Value, json};

/// SplitMix64 (Steele, Lea, Flood 2014): enough for test data, and the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn word(&mut self) -> String {
        let words = ["a", "b", "c", "a/b", "m~n", "", "é", "zz"];
        words[self.below(words.len())].to_owned()
    }

    pub fn small(&mut self) -> i32 {
        i32::try_from(self.below(4)).unwrap()
    }

    pub fn float(&mut self) -> f64 {
        // Fractions of 2^-53 are where a parser without float_roundtrip is one unit off.
        if self.once_in(2) { 0.5 } else { (self.next() >> 11) as f64 / (1_u64 << 53) as f64 }
    }

    pub fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| element(self)).collect()
    }

    pub fn option<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (!self.once_in(3)).then(|| value(self))
    }

    pub fn json(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => json!(self.once_in(2)),
            2 => json!(self.next().cast_signed()),
            3 => json!(self.float()),
            4 => json!(self.word()),
            5 => (0..self.below(3)).map(|_| self.json(depth - 1)).collect(),
            _ => (0..self.below(3)).map(|_| (self.word(), self.json(depth - 1))).collect(),
        }
    }

    /// Changes a value as another author may write the same duck: unknown fields, another order, repeated elements,
    /// explicit nulls, members left out, names by alias. The result need not be readable.
    pub fn disturb(&mut self, value: &mut Value, aliases: &[(&str, &str)]) {
        match value {
            Value::Object(fields) => {
                let names: Vec<String> = fields.keys().cloned().collect();
                for name in names {
                    let alias = aliases.iter().find(|(canonical, _)| *canonical == name);
                    if let Some((_, alias)) = alias.filter(|_| self.once_in(2)) {
                        let value = fields.remove(&name).unwrap();
                        fields.insert((*alias).to_owned(), value);
                    } else if self.once_in(12) {
                        fields.remove(&name);
                    } else if self.once_in(20) {
                        fields.insert(name.clone(), Value::Null);
                    }
                }
                for value in fields.values_mut() {
                    self.disturb(value, aliases);
                }
                if self.once_in(2) {
                    fields.insert("unknown".to_owned(), json!([self.next().cast_signed(), self.json(1)]));
                }
            }
            Value::Array(items) => {
                for item in items.iter_mut() {
                    self.disturb(item, aliases);
                }
                if self.once_in(2) {
                    items.reverse();
                }
                if self.once_in(6) && !items.is_empty() {
                    let again = items[self.below(items.len())].clone();
                    items.push(again);
                }
                if items.len() == 1 && self.once_in(8) {
                    *value = items[0].clone();
                }
            }
            Value::String(text) if self.once_in(2) => {
                if let Some(whole) = text.strip_suffix("000m") {
                    *text = whole.to_owned();
                }
            }
            _ => {}
        }
    }

    /// Makes one change, somewhere in the value.
    pub fn change(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let name = fields.keys().nth(self.below(fields.len())).unwrap().clone();
                if self.once_in(5) {
                    fields.remove(&name);
                } else {
                    self.change(&mut fields[&name]);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let (one, other) = (self.below(items.len()), self.below(items.len()));
                match self.below(8) {
                    0 | 1 => drop(items.remove(one)),
                    2 => items.swap(one, other),
                    3 => {
                        let mut new = items[one].clone();
                        self.change(&mut new);
                        items.insert(other, new);
                    }
                    _ => self.change(&mut items[one]),
                }
            }
            Value::Number(number) if number.is_f64() => *value = json!(self.float()),
            Value::Number(_) => *value = json!(self.small()),
            Value::Bool(flag) => *flag = !*flag,
            Value::String(text) => *text = self.word(),
            _ => *value = self.json(0),
        }
    }
}
