//! Tests the simulator's program: its output, and its exit codes.

use std::process::Command;

/// Runs a command. Returns its exit code, its standard output and its standard error output.
fn run(line: &str) -> (i32, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_samovar-sim"));
    let output = program.args(line.split_whitespace()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn soak_prints_one_json_object() {
    let (code, printed, complaint) = run("soak --seeds 0..2 --scenario host-crash --json");
    assert_eq!((code, complaint.as_str()), (0, ""));
    assert!(printed.starts_with('{') && printed.trim_end().ends_with('}') && printed.lines().count() == 1);
    for key in ["runs", "simulatedHours", "faults", "hostChanges", "recoveryMs", "p50", "p99", "max"] {
        assert!(printed.contains(&format!("\"{key}\":")), "{key} in {printed}");
    }
    assert!(printed.contains("\"runs\":2") && printed.contains("\"crash\":2"), "{printed}");
    assert!(printed.contains("\"violations\":[]"), "{printed}");
}

#[test]
fn soak_prints_its_figures_and_stops_after_its_minutes() {
    let (code, printed, _) = run("soak --seeds 0..3 --scenario silent-death");
    assert_eq!(code, 0);
    for word in ["runs", "simulated hours", "host changes", "silent-death", "recoveries", "per core-hour"] {
        assert!(printed.contains(word), "{word} in {printed}");
    }
    let (code, printed, _) = run("soak --seeds 0..1000000 --scenario host-crash --minutes 0.01 --json");
    let runs = printed.split("\"runs\":").nth(1).and_then(|rest| rest.split(',').next());
    assert!(code == 0 && runs.unwrap().parse::<u64>().unwrap() < 100_000, "{printed}");
}

#[test]
fn replay_prints_the_same_run_and_defaults_to_chaos() {
    let (code, printed, _) = run("replay 3 --scenario host-crash");
    assert_eq!(code, 0);
    assert!(printed.contains("crashes") && printed.contains("HostChanged"), "it tells what happened");
    assert_eq!(run("replay 3 --scenario host-crash").1, printed);
    assert_eq!(run("replay 3").1, run("replay 3 --scenario chaos").1);
}

#[test]
fn shrinking_a_sound_seed_finds_no_broken_promise() {
    let (code, printed, _) = run("shrink 3 --scenario host-crash");
    assert!(code == 0 && printed.contains("no promise is broken"), "{printed}");
    assert_eq!(run("replay 3 --scenario host-crash --shrunk").1, run("replay 3 --scenario host-crash").1);
}

#[test]
fn recovery_and_paths_tables_name_their_scenarios() {
    let (code, printed, _) = run("recovery --runs 1");
    assert!(code == 0 && printed.contains("`recovery-crash` | 1 | 1 |"), "{printed}");
    let (code, printed, _) = run("paths --runs 1 --by-host");
    assert!(code == 0 && printed.contains("`hole-calm`"), "{printed}");
}

#[test]
fn wrong_arguments_are_named_on_standard_error() {
    for (line, named) in [("soak --seeds 1..2 --scenario tea", "tea"), ("brew", "brew"), ("replay", "SEED")] {
        let (code, _, complaint) = run(line);
        assert!(
            code == 2 && complaint.contains(named) && complaint.contains("--help"),
            "{line}: {complaint}"
        );
    }
}
