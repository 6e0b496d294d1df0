//! Rooms as people want them: private, found by a quick match, watched, closed.

use samovar::Entry;
use samovar::prelude::*;
use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;

use crate::frames::until;

struct Table;

#[derive(Object)]
struct Colour {
    number: u8,
}

/// The host's state: how many rounds were played.
#[derive(Value, Clone, Default)]
struct Match {
    rounds: u8,
}

samovar::game! {
    Table: name = "rooms", version = 1,
    objects = (Colour), state = Match, asks = (), spectators = 1
}

impl Game for Table {
    fn decide(host: &mut Hosting<'_, '_, Self>, _: &Member, _: ()) {
        host.state.rounds += 1;
    }

    fn listing(state: &Match) -> Listing {
        Listing {
            title: format!("Round {}", state.rounds),
            is_open: state.rounds < 2,
        }
    }
}

type Play = Running<Table>;

fn start(entry: Entry) -> Play {
    entry.on_status(|_| ()).start(|_| Table).expect("the settings are good")
}

fn url(relay: &Relay) -> String {
    format!("ws://{}/ws", relay.address())
}

fn code(running: &mut Play) -> String {
    until(running, "a code", |_, room| {
        (!room.members().is_empty()).then(|| room.code().to_owned())
    })
}

fn sees(running: &mut Play, members: usize) {
    until(running, &format!("{members} members"), |_, room| {
        (room.members().len() == members).then_some(())
    });
}

/// The games that the relay lists: code, title, players and whether it is open.
fn listed(relay: &Relay) -> Vec<(String, String, u64, bool)> {
    let (_, body) = relay.get("/api/games").expect("the relay answers");
    let games: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let text = |game: &serde_json::Value, key: &str| {
        game[key].as_str().expect("a text").to_owned()
    };
    let of = |game: &serde_json::Value| {
        let players = game["players"].as_u64().expect("a number");
        let is_open = game["open"].as_bool().expect("yes or no");
        (text(game, "code"), text(game, "title"), players, is_open)
    };
    games.as_array().expect("a list").iter().map(of).collect()
}

async fn until_listed(
    relay: &Relay,
    what: &str,
    is_it: impl Fn(&[(String, String, u64, bool)]) -> bool,
) {
    let patience = std::time::Duration::from_secs(40);
    samovar_tests::wait::until(what, patience, async || {
        let listed = listed(relay);
        if is_it(&listed) { Ok(()) } else { Err(format!("{listed:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn private_game_needs_its_secret_and_is_not_listed() {
    let relay = Relay::start();
    let url = url(&relay);
    let mut ann = start(samovar::create_private(&url, "ann"));
    let invitation = tokio::task::block_in_place(|| code(&mut ann));
    let (public, secret) = invitation.split_once('.').expect("a secret");
    assert_eq!(secret.len(), 12);
    for wrong in [
        public.to_owned(),
        format!("{public}.TEATEATEA"),
        format!("{invitation}X"),
    ] {
        let eve = start(samovar::join(&url, &wrong, "eve"));
        assert_eq!(eve.finished().await, Err(Error::OtherGame), "{wrong}");
    }
    // A quick match makes another game instead.
    let mut dan = start(samovar::quick_match(&url, "dan"));
    let other = tokio::task::block_in_place(|| code(&mut dan));
    let mut bob = start(samovar::join(&url, &invitation.to_lowercase(), "bob"));
    tokio::task::block_in_place(|| {
        sees(&mut bob, 2);
        assert_eq!(code(&mut bob), invitation);
        // The next host does not list the game either.
        drop(ann);
        until(&mut bob, "bob hosts", |_, room| room.is_host().then_some(()));
        drop(start(samovar::join(&url, &invitation, "cat")));
    });
    until_listed(&relay, "dan's game alone", |games| {
        games.iter().map(|game| &game.0).eq([&other])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quick_match_fills_open_games_before_it_makes_one() {
    let relay = Relay::start();
    let url = url(&relay);
    let quick = |name| start(samovar::quick_match(&url, name).capacity(2));
    let (mut ann, mut bob);
    let (first, second);
    (ann, first) = tokio::task::block_in_place(|| {
        let mut ann = quick("ann");
        let first = code(&mut ann);
        (ann, first)
    });
    until_listed(&relay, "ann's game", |games| games.len() == 1).await;
    bob = quick("bob");
    tokio::task::block_in_place(|| {
        assert_eq!(code(&mut bob), first);
        sees(&mut ann, 2);
    });
    until_listed(&relay, "two players", |games| {
        games.iter().any(|game| game.2 == 2)
    })
    .await;
    let mut cat = quick("cat");
    second = tokio::task::block_in_place(|| code(&mut cat));
    assert_ne!(second, first, "the first game is full");
    // Ann's game has a place again, and is closed: its match has begun.
    drop(bob);
    tokio::task::block_in_place(|| {
        sees(&mut ann, 1);
        for _ in 0..2 {
            ann.with(|_, room| room.ask(()).or_log());
        }
        until(&mut ann, "two rounds", |_, room| {
            (room.state().rounds == 2).then_some(())
        });
    });
    let closed = (first.clone(), "Round 2".to_owned(), 1, false);
    until_listed(&relay, "a closed game", |games| games.contains(&closed))
        .await;
    let mut dan = quick("dan");
    tokio::task::block_in_place(|| assert_eq!(code(&mut dan), second));
    let eve = start(samovar::join(&url, &first, "eve"));
    assert_eq!(eve.finished().await, Err(Error::Closed));
}

#[tokio::test(flavor = "multi_thread")]
async fn barred_player_cannot_come_back_and_others_stay() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let url = url(&relay);
    let enter = |name: &str| {
        let seat = folder.path().join(name);
        start(samovar::join_or_create(&url, "TEA-9", name).seat_file(seat))
    };
    let mut ann = enter("ann");
    tokio::task::block_in_place(|| code(&mut ann));
    let (mut bob, mut eve) = (enter("bob"), enter("eve"));
    tokio::task::block_in_place(|| {
        for each in [&mut ann, &mut bob, &mut eve] {
            sees(each, 3);
        }
        // Without a seat file she would have no seat to come back to.
        until(&mut eve, "eve's seat file", |_, _| {
            folder.path().join("eve").exists().then_some(())
        });
        let seat_of = |room: &Room<'_, Table>, name: &str| {
            room.members()
                .iter()
                .find(|who| who.name == name)
                .map(|who| who.seat)
        };
        let by_bob = bob.with(|_, room| room.bar(seat_of(room, "eve")?).err());
        assert_eq!(by_bob, Some(Some(RoomError::NotHost)));
        until(&mut ann, "eve is there", |_, room| {
            room.bar(seat_of(room, "eve")?).ok()
        });
        sees(&mut ann, 2);
    });
    assert_eq!(eve.finished().await, Err(Error::PutOut));
    // The relay does not distinguish addresses of this machine, so it
    // recognises Eve by her pass.
    assert_eq!(enter("eve").finished().await, Err(Error::PutOut));
    tokio::task::block_in_place(|| sees(&mut bob, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn spectators_take_no_place_and_change_nothing() {
    let relay = Relay::start();
    let url = url(&relay);
    let enter = |name| samovar::join_or_create(&url, "TEA-8", name).capacity(1);
    let mut ann = start(enter("ann"));
    tokio::task::block_in_place(|| code(&mut ann));
    let bob = start(enter("bob"));
    assert_eq!(bob.finished().await, Err(Error::Full));
    let mut eve = start(enter("eve").watch());
    tokio::task::block_in_place(|| sees(&mut eve, 2));
    let dan = start(enter("dan").watch());
    assert_eq!(dan.finished().await, Err(Error::Full), "one may watch");
    tokio::task::block_in_place(|| {
        sees(&mut eve, 2);
        let refused = eve.with(|_, room| {
            let made = room.create(&Colour { number: 7 }).map(|_| ());
            (room.ask(()), made)
        });
        let refusal = Err(RoomError::Watching);
        assert_eq!(refused, Some((refusal, refusal)));
        let seat = until(&mut ann, "ann's colour", |_, room| {
            let watcher = room.members().into_iter().find(|who| who.watches)?;
            assert_eq!(watcher.name, "eve");
            room.own_or(|_| Colour { number: 3 });
            room.me().map(|me| me.seat)
        });
        until(&mut eve, "what ann shows", |_, room| {
            let colour = room.of::<Colour>(seat)?;
            (colour.number == 3 && colour.owner.name == "ann").then_some(())
        });
    });
    until_listed(&relay, "one player", |games| {
        games.iter().any(|game| game.2 == 1)
    })
    .await;
    drop(ann);
    tokio::task::block_in_place(|| {
        // Only the spectator is left, and it keeps the game.
        until(&mut eve, "eve hosts", |_, room| room.is_host().then_some(()));
        let mut bob = start(enter("bob"));
        sees(&mut bob, 2);
        bob.with(|_, room| room.ask(()).or_log());
        until(&mut eve, "bob's ask", |_, room| {
            (room.state().rounds == 1).then_some(())
        });
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn last_player_finds_its_object_after_a_restart() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let (url, seat) = (url(&relay), folder.path().join("ann"));
    let enter = || {
        let entry = samovar::join_or_create(&url, "TEA-6", "ann");
        start(entry.seat_file(&seat))
    };
    let own = |room: &mut Room<'_, Table>| {
        let id = room.own_or(|_| Colour { number: 1 });
        (id, room.get(id).map(|colour| colour.number))
    };
    let mut expected = 1;
    for number in [7, 9, 11] {
        let mut ann = enter();
        tokio::task::block_in_place(|| {
            code(&mut ann);
            let (id, found) = ann.with(|_, room| own(room)).expect("a member");
            assert_eq!(found, Some(expected), "alone in a game made anew");
            // Between two frames, as a handler of keys does it.
            let edited = ann.between(|_, room| {
                room.edit(id, |colour| colour.number = number)
            });
            assert_eq!(edited, Some(Ok(())));
            let now =
                ann.between(|_, room| room.get(id).map(|colour| colour.number));
            assert_eq!(now, Some(Some(number)));
            until(&mut ann, "its seat file", |_, room| {
                (seat.exists() && room.every(2.5)).then_some(())
            });
        });
        expected = number;
    }
    // An object that the player has ended does not come back.
    let mut ann = enter();
    tokio::task::block_in_place(|| {
        code(&mut ann);
        ann.with(|_, room| {
            let (id, found) = own(room);
            assert_eq!(found, Some(11));
            room.destroy(id)
        })
        .expect("a member")
        .expect("its own");
        until(&mut ann, "it is remembered", |_, room| {
            room.every(2.5).then_some(())
        });
    });
    drop(ann);
    let mut ann = enter();
    tokio::task::block_in_place(|| {
        code(&mut ann);
        assert_eq!(ann.with(|_, room| own(room).1), Some(Some(1)));
    });
}
