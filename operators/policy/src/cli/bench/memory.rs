//! The memory of this process, as Linux reports it; other systems are not supported.

/// Bytes in memory now.
pub(super) fn resident() -> Option<u64> {
    field("VmRSS:")
}

/// The most bytes there ever were in memory.
pub(super) fn peak() -> Option<u64> {
    field("VmHWM:")
}

fn field(name: &str) -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?, name)
}

/// A line such as `VmRSS:     1234 kB`.
fn parse(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_lines_are_read() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!((parse(status, "VmRSS:"), parse(status, "VmHWM:")), (Some(1 << 20), Some(2 << 20)));
        assert_eq!(parse("", "VmRSS:"), None);
    }
}
