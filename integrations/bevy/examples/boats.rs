//! Boats in a terminal: each player sails one, and one raft belongs to whoever touched it last. Run a relay by
//! `cargo xtask play`, then twice: `cargo run --example boats -- ws://127.0.0.1:8080/ws TEA-4 Ann`.

use std::time::Duration;

use bevy_app::{ScheduleRunnerPlugin, prelude::*};
use bevy_ecs::prelude::*;
use samovar::{Error, Game, Hosting, Member, Object};
use samovar_bevy::{Owner, Room, RoomNews, SamovarApp as _, Share, Touch};

/// A player's boat.
#[derive(Object, Component, Clone, PartialEq)]
struct Boat {
    #[field(range = 100.0, precision = 0.01, smooth)]
    position: [f32; 2],
}

/// A raft, which the host keeps while nobody touches it.
#[derive(Object, Component, Clone, PartialEq)]
#[object(access = "touch", orphan = "host")]
struct Raft {
    pushes: u32,
}

struct Regatta;

samovar::game! {
    Regatta: name = "regatta", version = 1, objects = (Boat, Raft), state = u32, asks = ()
}

impl Game for Regatta {
    fn decide(host: &mut Hosting<'_, '_, Self>, _: &Member, _: ()) {
        *host.state += 1;
    }
}

/// Each player has a boat; the first also brings the raft.
fn launch(
    mut commands: Commands<'_, '_>,
    room: Res<'_, Room<Regatta>>,
    mut news: MessageReader<'_, '_, RoomNews>,
) {
    for news in news.read() {
        println!("{news:?}");
        if *news == RoomNews::Joined {
            commands.spawn((Boat { position: [0.0, 0.0] }, Share));
            if room.members().len() == 1 {
                commands.spawn((Raft { pushes: 0 }, Share));
            }
        }
    }
}

fn sail(room: Res<'_, Room<Regatta>>, mut boats: Query<'_, '_, (&mut Boat, &Owner)>) {
    let (y, x) = (room.time() as f32).sin_cos();
    for (mut boat, owner) in &mut boats {
        if owner.is_me {
            boat.position = [50.0 * x, 50.0 * y];
        }
    }
}

/// Once a second: asks for a point, pushes the raft or asks for it, and tells what there is.
fn talk(
    mut commands: Commands<'_, '_>,
    mut told: Local<'_, u64>,
    mut room: ResMut<'_, Room<Regatta>>,
    boats: Query<'_, '_, (&Boat, &Owner)>,
    mut rafts: Query<'_, '_, (Entity, &mut Raft, &Owner)>,
) {
    let second = room.time() as u64;
    if !room.is_joined() || core::mem::replace(&mut *told, second) == second {
        return;
    }
    room.ask(());
    for (entity, mut raft, owner) in &mut rafts {
        if owner.is_me {
            raft.pushes += 1;
        } else if room.me().is_some_and(|me| second % 8 == u64::from(me.seat.0) % 8) {
            commands.entity(entity).insert(Touch);
        }
        println!("raft {} of {}", raft.pushes, owner.member.name);
    }
    for (boat, owner) in &boats {
        println!("boat of {} at {:?}", owner.member.name, boat.position);
    }
    println!("score {} host {}", room.state(), room.host().map_or("?", |host| &host.name));
}

fn stop(room: Res<'_, Room<Regatta>>, mut exit: MessageWriter<'_, AppExit>) {
    if let Some(end) = room.end() {
        println!("{end:?}");
        exit.write(AppExit::Success);
    }
}

fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    App::new()
        .add_plugins(ScheduleRunnerPlugin::run_loop(Duration::from_millis(33)))
        .enter(samovar::join_or_create(&url, &code, &name), || Regatta)?
        .share::<Regatta, Boat>()
        .share::<Regatta, Raft>()
        .add_systems(Update, (launch, sail, talk, stop).chain())
        .run();
    Ok(())
}
