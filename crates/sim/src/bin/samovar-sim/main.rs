//! x
fn main() {
    for seed in 0..20 {
        let mut plan = samovar_sim::Plan::calm(seed, 5);
        plan.strike(
            1000,
            samovar_sim::Fault::Crash {
                who: samovar_sim::Who::Host,
                back: Some(samovar_wire::Duration::from_millis(2000)),
            },
        );
        let o = samovar_sim::run(plan, samovar_sim::Toy::new(), false);
        println!(
            "{seed} {:?} {:?} {:?} {:?} {:x}",
            o.violation,
            o.simulated,
            o.recoveries,
            o.figures,
            o.trace.hash()
        );
    }
}
