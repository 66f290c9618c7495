//! Each expectation is what Go prints; the conformance tests compare thousands more with OPA itself.

use super::{Arg, sprintf};

#[track_caller]
fn check(format: &str, args: &[Arg], expected: &str) {
    assert_eq!(sprintf(format, args, 1 << 20).as_deref(), Some(expected), "{format:?}");
}

fn text(string: &str) -> Arg {
    Arg::String(string.to_owned())
}

#[test]
fn missing_and_extra_arguments_are_said_in_the_result() {
    check("%v %v", &[Arg::Int(1)], "1 %!v(MISSING)");
    check("%v", &[Arg::Int(1), Arg::Int(2)], "1%!(EXTRA int64=2)");
    check("%", &[], "%!(NOVERB)");
    check("100%%", &[], "100%");
    check("%d%%", &[Arg::Int(5)], "5%");
}

#[test]
fn an_argument_that_does_not_fit_its_verb_is_shown_with_its_type() {
    check("%d", &[text("hi")], "%!d(string=hi)");
    check("%d", &[Arg::Float(1.5)], "%!d(float64=1.5)");
    check("%s", &[Arg::Int(3)], "%!s(int64=3)");
    check("%t", &[text("true")], "%!t(string=true)");
}

#[test]
fn flags_and_widths_pad() {
    check("%5d|%-5d|%05d|%+d", &[Arg::Int(7), Arg::Int(7), Arg::Int(7), Arg::Int(7)], "    7|7    |00007|+7");
    check("%-5s|%5s|%.2s", &[text("ab"), text("ab"), text("abc")], "ab   |   ab|ab");
    check("%*d", &[Arg::Int(4), Arg::Int(1)], "   1");
    check("%!", &[Arg::Int(4)], "%!!(int64=4)");
}

#[test]
fn indexes_choose_their_argument() {
    check("%[2]d %[1]d", &[Arg::Int(1), Arg::Int(2)], "2 1");
    check("%[3]d", &[Arg::Int(1)], "%!d(BADINDEX)");
}

#[test]
fn floats_are_laid_out_as_go_does() {
    check("%v", &[Arg::Float(1234567.5)], "1.2345675e+06");
    check(
        "%v %g %f %.2f",
        &[Arg::Float(0.1), Arg::Float(1e-7), Arg::Float(2.5), Arg::Float(2.345)],
        "0.1 1e-07 2.500000 2.35",
    );
    check("%x", &[Arg::Float(1.5)], "0x1.8p+00");
    check("%b", &[Arg::Float(1.5)], "6755399441055744p-52");
}

#[test]
fn quoting_escapes_what_go_does_not_print() {
    check("%q", &[text("a\"\n\u{200b}é")], "\"a\\\"\\n\\u200bé\"");
    check("%+q %#q", &[text("é"), text("é")], "\"\\u00e9\" `é`");
}

#[test]
fn of_two_shortest_texts_the_even_one_is_taken() {
    check(
        "%v %e",
        &[Arg::Float(770_194_700_978_811.3), Arg::Float(0.5)],
        "7.701947009788112e+14 5.000000e-01",
    );
    check("%v", &[Arg::Float(5e-324)], "5e-324");
}
