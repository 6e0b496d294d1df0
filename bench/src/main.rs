//! The runner of the workloads. `cargo xtask bench` builds and starts it.

use clap::Parser as _;
use samovar_bench::meter::CountingAllocator;
use samovar_bench::options::Options;
use samovar_bench::report::Report;
use samovar_bench::suite;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() {
    let options = Options::parse();
    let mut report = Report::new(options.json);
    suite::run(&options, &mut report);
}
