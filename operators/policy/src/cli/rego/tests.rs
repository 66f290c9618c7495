//! The commands as people and pipelines use them.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: RegoArgs,
}

#[test]
fn a_flag_that_cannot_be_obeyed_is_refused() {
    for line in [["eval", "1", "--partial"], ["test", ".", "--bench"], ["check", ".", "--strict"]] {
        let words = std::iter::once("rego").chain(line);
        let args = Line::try_parse_from(words).unwrap().args;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = rego(&args, &mut std::io::empty(), &mut out, &mut err);
        let err = String::from_utf8(err).unwrap();
        assert!(code > 0 && out.is_empty() && err.contains("is not supported"), "{line:?}: {code} {err}");
    }
}
