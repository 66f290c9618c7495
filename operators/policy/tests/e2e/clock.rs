//! Clocks that are wrong: a process whose time of day is off, while its monotonic clock is right.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The functions of the C library that tell the time of day, shifted by `CLOCK_AHEAD` seconds.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long ahead(void) { const char *text = getenv("CLOCK_AHEAD"); return text ? atol(text) : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise)) return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now) *now = precise.tv_sec;
    return precise.tv_sec;
}
"#;

/// The library that shifts clocks. It is deleted when dropped.
pub(crate) struct Clocks {
    folder: tempfile::TempDir,
}

impl Clocks {
    /// Builds the library with the C compiler, which Rust links with, too.
    pub(crate) fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("clock.c");
        std::fs::write(&source, SOURCE).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(library(folder.path())).arg(&source).arg("-ldl");
        let output = compiler.output().expect("this test needs a C compiler called cc, as rustc does");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { folder }
    }

    /// The environment of a process whose clock is ahead by `seconds`, or behind.
    pub(crate) fn ahead(&self, seconds: i64) -> [(&'static str, String); 2] {
        let library = library(self.folder.path()).to_str().unwrap().to_owned();
        [("LD_PRELOAD", library), ("CLOCK_AHEAD", seconds.to_string())]
    }
}

fn library(folder: &Path) -> PathBuf {
    folder.join("clock.so")
}

#[test]
fn the_time_of_day_is_shifted_and_nothing_else() {
    let clocks = Clocks::build();
    let ask = |seconds: i64| {
        let mut command = Command::new("date");
        let output = command.arg("+%s").envs(clocks.ahead(seconds)).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse::<i64>().unwrap()
    };
    let (behind, right, ahead) = (ask(-7200), ask(0), ask(7200));
    // The commands ran one after the other, however slowly: half an hour is far from two.
    assert!((right - behind - 7200).abs() < 1800 && (ahead - right - 7200).abs() < 1800);
}
