//! The program itself: what it prints, and its exit codes.
#![cfg(not(target_arch = "wasm32"))]
#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

use std::process::Command;

/// The exit code, the standard output and the standard error output of a command.
fn run(line: &str) -> (i32, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_samovar-sim"));
    let output = program.args(line.split_whitespace()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_soak_sums_up_as_one_json_object() {
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
fn a_soak_prints_what_happened_and_how_fast_and_stops_when_its_minutes_are_over() {
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
fn a_replay_is_the_same_each_time_and_chaos_unless_told_otherwise() {
    let (code, printed, _) = run("replay 3 --scenario host-crash");
    assert_eq!(code, 0);
    assert!(printed.contains("crashes") && printed.contains("HostChanged"), "it tells what happened");
    assert_eq!(run("replay 3 --scenario host-crash").1, printed);
    assert_eq!(run("replay 3").1, run("replay 3 --scenario chaos").1);
}

#[test]
fn a_sound_seed_has_nothing_to_shrink() {
    let (code, printed, _) = run("shrink 3 --scenario host-crash");
    assert!(code == 0 && printed.contains("no promise is broken"), "{printed}");
    assert_eq!(run("replay 3 --scenario host-crash --shrunk").1, run("replay 3 --scenario host-crash").1);
}

#[test]
fn tables_have_a_row_for_each_thing_that_happens() {
    let (code, printed, _) = run("recovery --runs 1");
    assert!(code == 0 && printed.contains("`recovery-crash` | 1 | 1 |"), "{printed}");
    let (code, printed, _) = run("paths --runs 1 --by-host");
    assert!(code == 0 && printed.contains("`hole-calm`"), "{printed}");
}

#[test]
fn who_asks_for_what_is_not_there_is_told_so() {
    for (line, named) in [("soak --seeds 1..2 --scenario tea", "tea"), ("brew", "brew"), ("replay", "SEED")] {
        let (code, _, complaint) = run(line);
        assert!(
            code == 2 && complaint.contains(named) && complaint.contains("--help"),
            "{line}: {complaint}"
        );
    }
}
