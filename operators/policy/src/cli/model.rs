//! `webtroller model`: predicts how long a policy change takes to be enforced by all pods, and how often none is up.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pod_status::sim::{Distribution, Exposure, Simulation, svg, table};

const EXAMPLES: &str = "\
Examples:
  # Three replicas, or ten? One watch in fifty breaks and is opened again after 5 to 30 s
  webtroller model --pods 3,10 --delay '0.98*exp:0.3+0.02*uniform:5,30'

  # From measured delays of one pod, as a plot
  webtroller model --samples delays.txt -o svg > plot.svg";

/// Predict availability and time to enforcement; touches no cluster.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ModelArgs {
    /// Numbers of pods to compare.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 3, 5, 10, 20, 60])]
    pub pods: Vec<u32>,
    /// Delay of one pod from the write of a policy until it enforces it, in seconds: `constant:S`, `exp:MEAN`,
    /// `lognormal:MEDIAN,SIGMA`, `uniform:FROM,TO`, or several as `0.98*exp:0.3+0.02*uniform:5,30`.
    #[arg(long, default_value = "exp:0.5", conflicts_with = "samples")]
    pub delay: Distribution,
    /// File with measured delays of one pod in seconds, one per line, in place of `--delay`.
    #[arg(long)]
    pub samples: Option<PathBuf>,
    /// Delay from the slowest pod's enforcement until the status says so.
    #[arg(long, default_value = "constant:0.6")]
    pub report: Distribution,
    /// Share of changes in which all pods have the same delay, 0 to 1.
    #[arg(long, default_value_t = 0.0)]
    pub common: f64,
    /// Probability that one pod is down.
    #[arg(long, default_value_t = 0.01)]
    pub down: f64,
    /// Share of failures that take all pods down at once.
    #[arg(long, default_value_t = 0.05)]
    pub down_together: f64,
    /// Pods that must be up.
    #[arg(long, default_value_t = 1)]
    pub needed: u32,
    /// Requests that a client sends, or repeats, while one pod is behind.
    #[arg(long, default_value_t = 3)]
    pub requests: i32,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = ModelOutput::Table, ignore_case = true)]
    pub output: ModelOutput,
}

/// Output formats of `webtroller model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelOutput {
    /// Lines for people.
    Table,
    /// Plots of the share of changes that are enforced within a time, and of the availability.
    Svg,
}

/// Predicts and prints. Returns the exit code: 2 if the samples cannot be read, 1 if the output is closed.
pub fn model(args: &ModelArgs, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let delay = match distribution(args) {
        Ok(delay) => delay,
        Err(message) => {
            // Ignore write errors: stderr may be closed.
            let _ = writeln!(err, "webtroller: {message}");
            return 2;
        }
    };
    let predict = |pods: &u32| {
        let simulation = Simulation::new(*pods, delay.clone()).report(args.report.clone());
        simulation.common(args.common).samples(50_000).run()
    };
    let predictions: Vec<_> = args.pods.iter().map(predict).collect();
    let exposure = Exposure::default().down(args.down, args.down_together);
    let exposure = exposure.needed(args.needed).requests(args.requests);
    let text = match args.output {
        ModelOutput::Svg => svg(&predictions, &exposure),
        ModelOutput::Table => table(&predictions, &exposure),
    };
    u8::from(out.write_all(text.as_bytes()).is_err())
}

fn distribution(args: &ModelArgs) -> Result<Distribution, String> {
    let Some(path) = &args.samples else {
        return Ok(args.delay.clone());
    };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut samples = Vec::new();
    for (line, text) in (1u32..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        match text.trim().parse::<f64>() {
            Ok(sample) if sample.is_finite() && sample >= 0.0 => samples.push(sample),
            _ => {
                return Err(format!(
                    "{}:{line}: `{}` is not a number of seconds",
                    path.display(),
                    text.trim()
                ));
            }
        }
    }
    if samples.is_empty() {
        return Err(format!("{}: no samples; write one number of seconds per line", path.display()));
    }
    Ok(Distribution::Empirical(samples))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: ModelArgs,
    }

    fn run(words: &[&str]) -> (u8, String, String) {
        let args = Command::try_parse_from([&["model"], words].concat()).unwrap().args;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = model(&args, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_table_and_a_plot() {
        let (code, out, _) = run(&["--pods", "1,3"]);
        assert_eq!(code, 0);
        let rows: Vec<&str> = out.lines().collect();
        assert!(rows[2].trim_start().starts_with("3   0.9"), "{out}");
        let numbers = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(numbers(rows[6]), ["3", "5.0e-4", "1.0e-6", "0.33", "0.70"], "{out}");
        let (_, out, _) = run(&["--pods", "3", "--needed", "2", "--down-together", "0", "--requests", "1"]);
        assert_eq!(numbers(out.lines().last().unwrap()), ["3", "3.0e-4", "3.0e-4", "0.33", "0.33"], "{out}");
        let (_, svg, _) = run(&["--pods", "3", "--delay", "0.98*exp:0.3+0.02*uniform:5,30", "-o", "svg"]);
        assert!(svg.starts_with("<svg"));
    }

    #[test]
    fn samples_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("delays");
        std::fs::write(&file, "0.5\n\nsoon\n").unwrap();
        let (code, _, err) = run(&["--samples", file.to_str().unwrap()]);
        assert_eq!(code, 2);
        assert!(err.contains("delays:3: `soon` is not a number of seconds"), "{err}");
        std::fs::write(&file, "0.5\n0.5\n").unwrap();
        let (code, out, _) = run(&["--samples", file.to_str().unwrap(), "--pods", "60"]);
        assert_eq!((code, out.lines().nth(1).unwrap().contains("0.50s")), (0, true));
    }
}
