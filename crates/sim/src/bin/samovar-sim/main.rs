//! x
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let n: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let s = samovar_sim::Scenario::named(&name).unwrap();
    let mut total = 0.0;
    let mut bad = 0;
    for seed in 0..n {
        let plan = s.plan(seed);
        let o = samovar_sim::run(plan, samovar_sim::Toy::new(), false);
        total += o.simulated.as_millis_f64() / 1000.0;
        if let Some(v) = o.violation {
            bad += 1;
            println!("{seed} {:?}", v);
        } else if n < 5 {
            println!("{seed} {:?} {:?}", o.recoveries, o.figures);
        }
    }
    println!("{name}: {bad} of {n} bad, {total} s");
}
