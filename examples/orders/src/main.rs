//! The page of `samovar-orders`. A native build prints what the page shows.

#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
mod picture;

#[cfg(target_arch = "wasm32")]
fn main() -> Result<(), wasm_bindgen::JsValue> {
    page::open()
}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), String> {
    use samovar_orders::play::{Conditions, ORDERS, play};
    use samovar_orders::{pacmen, scenes};

    let kills_host = std::env::args().any(|argument| argument == "--kill-host");
    let conditions = Conditions { kills_host, ..Conditions::default() };
    for scene in scenes::SCENES {
        println!("{}: {}", scene.title, scene.story);
        for (order, name) in ORDERS {
            let verdict = play(scene, order, conditions)?.verdict;
            println!("  {name:<12} {verdict}");
        }
    }
    println!("{}: {}", pacmen::TITLE, pacmen::STORY);
    for in_step in [false, true] {
        let race = pacmen::race(in_step, conditions)?;
        println!("  {:<12} {}", pacmen::name(in_step), race.verdict());
    }
    Ok(())
}
