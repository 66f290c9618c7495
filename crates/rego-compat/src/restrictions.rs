//! The restrictions of a host on modules: documents, imports, builtins and sizes.
//!
//! The default is plain OPA with bounds. The host names the roots of `data` that may be read; none is built in.

use std::collections::BTreeSet;

/// The builtins that reach outside the evaluation, refused unless the host allows them
/// ([`Restrictions::with_disabled_builtins`]).
pub const DISABLED_BUILTINS: [&str; 3] = ["http.send", "net.lookup_ip_addr", "opa.runtime"];

/// The upper bounds on a module. The defaults are far above the size of real policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Bytes of one module. Default 1 MiB.
    pub size: usize,
    /// Levels of brackets, operators and bodies inside one another; a chain of left-associative operators, such as
    /// `a + b - c` or `x and y and z`, is one level. Default 96.
    pub nesting: u32,
    /// Characters of one line. Default 16,384.
    pub columns: usize,
    /// Rules of all modules together. Default 4,000.
    pub rules: usize,
    /// Statements, variables, calls and elements of collections that are not constant, in one rule with its `else`
    /// branches. Default 10,000.
    pub terms: usize,
    /// Names and keys of one reference or path. Default 256.
    pub path: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { size: 1 << 20, nesting: 96, columns: 1 << 14, rules: 4_000, terms: 10_000, path: 256 }
    }
}

/// The restrictions on the contents of a module. Build with `Restrictions::default()` and the setters.
///
/// ```
/// use rego_compat::{Module, RegoVersion, Restrictions};
///
/// let restrictions = Restrictions::default().with_data_roots(["inventory", "lib"]).with_required_rules(["violation"]);
/// let module = Module::parse("t.rego", "package t\np { data.secrets.x }", RegoVersion::V0)?;
/// let diagnostics = module.check(&restrictions).unwrap_err();
/// assert_eq!(diagnostics.len(), 2);
/// # Ok::<(), rego_compat::Diagnostics>(())
/// ```
#[derive(Clone, Debug)]
pub struct Restrictions {
    data_roots: Option<BTreeSet<String>>,
    import_roots: Option<Vec<Vec<String>>>,
    required_rules: BTreeSet<String>,
    disabled_builtins: BTreeSet<String>,
    external_functions: BTreeSet<String>,
    prints: bool,
    bounds: Bounds,
}

impl Default for Restrictions {
    fn default() -> Self {
        Self {
            data_roots: None,
            import_roots: None,
            required_rules: BTreeSet::new(),
            disabled_builtins: DISABLED_BUILTINS.iter().map(ToString::to_string).collect(),
            external_functions: BTreeSet::new(),
            prints: false,
            bounds: Bounds::default(),
        }
    }
}

fn owned<S: Into<String>>(names: impl IntoIterator<Item = S>) -> impl Iterator<Item = String> {
    names.into_iter().map(Into::into)
}

impl Restrictions {
    /// Limits reads of `data` to these roots (`data.<root>…`), always by name. Without this call, any may be read.
    #[must_use]
    pub fn with_data_roots<S: Into<String>>(mut self, roots: impl IntoIterator<Item = S>) -> Self {
        self.data_roots = Some(owned(roots).collect());
        self
    }

    /// Limits imports to these documents, as dotted prefixes (`data.lib`, `future`). Without this call, every import is
    /// allowed that OPA accepts.
    #[must_use]
    pub fn with_import_roots<S: Into<String>>(mut self, roots: impl IntoIterator<Item = S>) -> Self {
        self.import_roots =
            Some(owned(roots).map(|root| root.split('.').map(str::to_owned).collect()).collect());
        self
    }

    /// Sets the rules that each module has to have.
    #[must_use]
    pub fn with_required_rules<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.required_rules = owned(names).collect();
        self
    }

    /// Replaces the list of refused builtins ([`DISABLED_BUILTINS`] by default). This crate has no implementation of `http.send`
    /// and `net.lookup_ip_addr`: where a host allows them, a call is an [`EvalError::External`](crate::EvalError::External).
    #[must_use]
    pub fn with_disabled_builtins<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.disabled_builtins = owned(names).collect();
        self
    }

    /// Sets the names of functions of one argument that the host implements, see [`crate::Externals`].
    #[must_use]
    pub fn with_external_functions<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.external_functions = owned(names).collect();
        self
    }

    /// Passes printed lines to [`crate::Externals::print`]. Without this call, calls of `print` are dropped.
    #[must_use]
    pub const fn with_print(mut self) -> Self {
        self.prints = true;
        self
    }

    /// Replaces the bounds.
    #[must_use]
    pub const fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Returns the bounds in force.
    #[must_use]
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns true if `data.<root>` may be read.
    pub(crate) fn allows_data_root(&self, root: &str) -> bool {
        self.data_roots.as_ref().is_none_or(|roots| roots.contains(root))
    }

    /// Returns true if `data` may only be read through named roots.
    pub(crate) const fn restricts_data(&self) -> bool {
        self.data_roots.is_some()
    }

    /// Returns the allowed roots, for messages.
    pub(crate) fn data_roots(&self) -> impl Iterator<Item = &str> {
        self.data_roots.iter().flatten().map(String::as_str)
    }

    /// Returns true if a path may be imported.
    pub(crate) fn allows_import<S: AsRef<str>>(&self, path: &[S]) -> bool {
        self.import_roots.as_ref().is_none_or(|roots| {
            roots
                .iter()
                .any(|root| root.len() <= path.len() && root.iter().zip(path).all(|(a, b)| a == b.as_ref()))
        })
    }

    /// Returns the prefixes that may be imported, for messages.
    pub(crate) fn import_roots(&self) -> impl Iterator<Item = String> {
        self.import_roots.iter().flatten().map(|root| root.join("."))
    }

    pub(crate) fn required_rules(&self) -> impl Iterator<Item = &str> {
        self.required_rules.iter().map(String::as_str)
    }

    pub(crate) fn disables(&self, builtin: &str) -> bool {
        self.disabled_builtins.contains(builtin)
    }

    pub(crate) const fn prints(&self) -> bool {
        self.prints
    }

    /// Returns the names of the host's functions, in order.
    pub(crate) fn externals(&self) -> impl Iterator<Item = &str> {
        self.external_functions.iter().map(String::as_str)
    }
}
