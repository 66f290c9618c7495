//! The number of questions of the comparisons: a size for every day, and more from the environment.

/// The number in the environment variable `name`, or `everyday`.
///
/// A variable that is not a number counts as not set, and is said on standard error.
#[must_use]
pub fn from_env(name: &str, everyday: usize) -> usize {
    let Ok(text) = std::env::var(name) else {
        return everyday;
    };
    text.parse().unwrap_or_else(|_| {
        eprintln!("{name}={text} is not a number; taking {everyday}");
        everyday
    })
}
