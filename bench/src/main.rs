//! The runner of the workloads. `cargo xtask bench` builds and starts it.

use std::process::ExitCode;

use samovar_bench::meter::CountingAllocator;
use samovar_bench::options::Options;
use samovar_bench::report::Report;
use samovar_bench::suite;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("samovar-bench: {message}");
            return ExitCode::FAILURE;
        }
    };
    let mut report = Report::new(options.is_json);
    suite::run(&options, &mut report);
    ExitCode::SUCCESS
}
