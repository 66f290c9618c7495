//! What a program reads, as far as its text tells.

/// Which documents a program reads and whether its answer depends on anything else.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    pub(crate) data_paths: Vec<Vec<String>>,
    pub(crate) input_paths: Vec<Vec<String>>,
    pub(crate) deterministic: bool,
}

impl Analysis {
    /// Prefixes of `data` the program may read, without `data` itself: `[["inventory", "namespace"]]`. An empty
    /// path means all of `data`; no paths mean none of it.
    #[must_use]
    pub fn data_paths(&self) -> &[Vec<String>] {
        &self.data_paths
    }

    /// Prefixes of `input` the program may read.
    #[must_use]
    pub fn input_paths(&self) -> &[Vec<String>] {
        &self.input_paths
    }

    /// Whether the same input and data always give the same answer: no clock, no randomness, no host function.
    #[must_use]
    pub const fn is_deterministic(&self) -> bool {
        self.deterministic
    }
}
