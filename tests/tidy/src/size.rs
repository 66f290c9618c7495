//! Files of at most 400 lines and functions of at most 50 lines of code, tests not counted.
//!
//! A comment that says why makes a function no longer; in a file every line counts, because it is read.

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::source::lines;
use crate::{Diagnostic, Rule, Source};

const FILE: usize = 400;
const FUNCTION: usize = 50;

pub(crate) fn check(source: &Source) -> Vec<Diagnostic> {
    let mut functions = Functions { source, found: Vec::new() };
    functions.visit_file(source.tree());
    let counted = source.text().lines().zip(1..).filter(|(_, line)| !source.is_test(*line)).count();
    if counted > FILE {
        let message =
            format!("{counted} lines without tests, {FILE} are allowed: split it by reason to change");
        functions.found.push(Diagnostic::new(source.path(), FILE, Rule::FileLength, message));
    }
    functions.found
}

struct Functions<'a> {
    source: &'a Source,
    found: Vec<Diagnostic>,
}

impl Functions<'_> {
    /// Counts the code from `fn` to the closing brace.
    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (first, last) = (*lines(signature.span()).start(), *lines(block.span()).end());
        let body = self.source.text().lines().zip(1..).filter(|(_, line)| (first..=last).contains(line));
        let length = body.filter(|(text, _)| is_code(text)).count();
        if length > FUNCTION && !self.source.is_test(first) {
            let message =
                format!("fn {} has {length} lines of code, {FUNCTION} are allowed", signature.ident);
            self.found.push(Diagnostic::new(self.source.path(), first, Rule::FunctionLength, message));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<(Rule, usize)> {
        let source = Source::parse("crates/x/src/a.rs", text).unwrap();
        check(&source).into_iter().map(|diagnostic| (diagnostic.rule, diagnostic.line)).collect()
    }

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "let _ = 1;\n".repeat(lines.saturating_sub(2)))
    }

    #[test]
    fn fifty_lines_pass_and_fifty_one_do_not() {
        assert_eq!(rules(&function(50)), []);
        assert_eq!(rules(&function(51)), [(Rule::FunctionLength, 1)]);
    }

    #[test]
    fn methods_and_provided_methods_count() {
        assert_eq!(rules(&format!("impl X {{\n{}}}\n", function(51))), [(Rule::FunctionLength, 2)]);
        assert_eq!(rules(&format!("trait X {{\n{}}}\n", function(51))), [(Rule::FunctionLength, 2)]);
        assert_eq!(rules(&format!("fn outer() {{ mod x {{\n{}}} }}\n", function(51))).len(), 2);
    }

    #[test]
    fn reasons_inside_a_function_are_free() {
        let explained = function(50).replace("let _ = 1;\n", "// Why.\n\nlet _ = 1;\n");
        assert_eq!(rules(&explained), []);
    }

    #[test]
    fn documentation_of_a_function_is_free() {
        assert_eq!(rules(&format!("{}#[inline]\n{}", "/// Why.\n".repeat(30), function(50))), []);
    }

    #[test]
    fn long_tests_pass() {
        assert_eq!(rules(&format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(500))), []);
    }

    #[test]
    fn four_hundred_lines_pass_and_one_more_does_not() {
        assert_eq!(rules(&"// Why.\n".repeat(400)), []);
        assert_eq!(rules(&"// Why.\n".repeat(401)), [(Rule::FileLength, 400)]);
    }
}
