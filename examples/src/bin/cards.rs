//! High card, with a shuffle that nobody can cheat, the host included. In each
//! round the players commit to secrets by their hashes. When all have, they
//! show the secrets, and all secrets together shuffle the deck. Each player
//! checks each round by itself. A player or host that shows no secret makes the
//! round void: it can spoil a round, and choose no card.

use samovar::prelude::*;
use sha2::{Digest, Sha256};

/// Seconds until a round goes on without those who say nothing.
const PATIENCE: f64 = 3.0;
const PLAYERS: usize = 4;

type Hash = [u8; 32];
type Secret = [u8; 16];

/// A player's part in a round.
#[derive(Value, Clone, Debug, Default, PartialEq)]
struct Hand {
    seat: u16,
    hash: Hash,
    secret: Option<Secret>,
}

#[derive(Value, Clone, Debug, Default, PartialEq)]
struct Table {
    round: u32,
    /// Session time at which the present phase began.
    #[field(exact)]
    since: f64,
    /// Whether no hash is taken any more, so that secrets may be shown.
    is_closed: bool,
    #[field(bound = 4)]
    hands: Vec<Hand>,
    /// The hands of the round before, for those who check it.
    #[field(bound = 4)]
    former: Vec<Hand>,
    /// Points by seat.
    #[field(bound = 16)]
    points: Vec<(u16, u16)>,
}

#[derive(Message)]
enum Ask {
    Commit(u32, Hash),
    Close(u32),
    Show(u32, Secret),
    Next(u32),
}

samovar::game! {
    Player: name = "cards", version = 1, state = Table, asks = Ask
}

struct Player {
    /// The round of the secret.
    round: u32,
    secret: Secret,
    /// The hashes of this round, as they were when secrets were shown.
    noted: Vec<(u16, Hash)>,
    points: Vec<(u16, u16)>,
}

fn draw() -> Secret {
    let mut secret = Secret::default();
    getrandom::fill(&mut secret).expect("the system is random");
    secret
}

fn hash(secret: Secret) -> Hash {
    Sha256::digest(secret).into()
}

fn card_name(card: u8) -> String {
    let ranks = ["2", "3", "4", "5", "6", "7", "8", "9", "10"];
    let rank = ranks.into_iter().chain(["J", "Q", "K", "A"]);
    let rank = rank.clone().nth(usize::from(card / 4)).unwrap_or_default();
    format!("{rank}{}", ['♣', '♦', '♥', '♠'][usize::from(card % 4)])
}

/// The cards of the hands; `None` when a secret was not shown. Each secret
/// alone can change the whole deck.
fn deal(hands: &[Hand]) -> Option<Vec<(u16, u8)>> {
    let mut hands: Vec<_> = hands.iter().collect();
    hands.sort_by_key(|hand| hand.seat);
    let mut seed = Sha256::new();
    for hand in &hands {
        seed.update(hand.secret?);
    }
    let (mut seed, mut deck) = (seed.finalize(), (0..52).collect::<Vec<u8>>());
    let drawn = hands.iter().map(|hand| {
        seed = Sha256::digest(seed);
        let number = u64::from_le_bytes(core::array::from_fn(|i| seed[i]));
        let place = (number % deck.len() as u64) as usize;
        (hand.seat, deck.remove(place))
    });
    Some(drawn.collect())
}

/// The winner of a round.
fn winner(hands: &[Hand]) -> Option<u16> {
    let cards = deal(hands)?;
    cards.into_iter().max_by_key(|card| card.1).map(|card| card.0)
}

fn award(points: &mut Vec<(u16, u16)>, seat: u16) {
    match points.iter_mut().find(|each| each.0 == seat) {
        Some(own) => own.1 = own.1.saturating_add(1),
        None => points.push((seat, 1)),
    }
}

impl Table {
    fn enter(&mut self, time: f64, is_closed: bool) {
        (self.since, self.is_closed) = (time, is_closed);
    }
}

impl Player {
    fn new() -> Self {
        let (noted, points) = (Vec::new(), Vec::new());
        Self { round: 0, secret: draw(), noted, points }
    }

    /// Checks the round that is over. The hashes bind the secrets, and the
    /// secrets bind the cards, so a host can change neither.
    fn check(&self, table: &Table) -> Result<(), &'static str> {
        if table.round != self.round + 1 {
            return Err("a round was skipped");
        }
        let honest = |hand: &Hand| {
            let noted = self.noted.contains(&(hand.seat, hand.hash));
            noted && hand.secret.is_none_or(|shown| hash(shown) == hand.hash)
        };
        if table.former.len() != self.noted.len()
            || !table.former.iter().all(honest)
        {
            return Err("a hash or a secret was changed");
        }
        let mut points = self.points.clone();
        if let Some(seat) = winner(&table.former) {
            award(&mut points, seat);
        }
        (points == table.points).then_some(()).ok_or("the points are wrong")
    }

    fn tell(&self, room: &Room<'_, Self>, table: &Table) {
        let name = |seat| {
            let member = room.member(SeatId(seat));
            member.map_or_else(|| "somebody".to_owned(), |member| member.name)
        };
        let Some(cards) = deal(&table.former) else {
            return println!("round {}: void", self.round);
        };
        let cards = cards
            .iter()
            .map(|&(seat, card)| format!("{} {}", name(seat), card_name(card)));
        let won = winner(&table.former).map(name).unwrap_or_default();
        let cards = cards.collect::<Vec<_>>().join(", ");
        println!("round {}: {cards}: {won} wins", self.round);
    }
}

impl Game for Player {
    fn frame(&mut self, room: &mut Room<'_, Self>, time: f64) {
        let (Some(me), table) = (room.me(), room.state().clone()) else {
            return;
        };
        if table.round != self.round {
            // Rounds before this player came are not its business.
            let played = hash(self.secret);
            let played = table.former.iter().any(|hand| hand.hash == played);
            if played || !self.noted.is_empty() {
                match self.check(&table) {
                    Ok(()) => self.tell(room, &table),
                    Err(what) => {
                        println!("round {}: cheated: {what}", self.round);
                    }
                }
            }
            self.round = table.round;
            (self.noted, self.points) = (Vec::new(), table.points.clone());
            self.secret = draw();
        }
        let round = self.round;
        let mine = table.hands.iter().find(|hand| hand.seat == me.seat.0);
        let is_late = time > table.since + PATIENCE;
        if table.is_closed && self.noted.is_empty() {
            let noted = table.hands.iter().map(|hand| (hand.seat, hand.hash));
            self.noted = noted.collect();
        }
        // An ask that has had its effect is asked no more.
        if !room.every(0.1) {
            return;
        }
        let wants = if !table.is_closed {
            let full = table.hands.len() >= room.members().len().min(PLAYERS);
            match mine {
                None => Some(Ask::Commit(round, hash(self.secret))),
                Some(_) if full || is_late => Some(Ask::Close(round)),
                Some(_) => None,
            }
        } else if mine.is_some_and(|hand| {
            // The secret stays here until its hash is one of those noted.
            hand.secret.is_none() && hand.hash == hash(self.secret)
        }) {
            Some(Ask::Show(round, self.secret))
        } else if is_late
            || table.hands.iter().all(|hand| hand.secret.is_some())
        {
            Some(Ask::Next(round))
        } else {
            None
        };
        if let Some(ask) = wants {
            room.ask(ask).or_log();
        }
    }

    fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, ask: Ask) {
        let (time, seat) = (host.room.time(), from.seat.0);
        let here = host.room.members().len().min(PLAYERS);
        let table = &mut *host.state;
        let is_late = time > table.since + PATIENCE;
        let mine = table.hands.iter().position(|hand| hand.seat == seat);
        let (Ask::Commit(round, _)
        | Ask::Close(round)
        | Ask::Show(round, _)
        | Ask::Next(round)) = ask;
        match (ask, mine) {
            _ if round != table.round => {}
            (Ask::Commit(_, hash), None)
                if !table.is_closed && table.hands.len() < PLAYERS =>
            {
                table.hands.push(Hand { seat, hash, secret: None });
            }
            (Ask::Close(_), _)
                if !table.is_closed
                    && table.hands.len() > 1
                    && (is_late || table.hands.len() >= here) =>
            {
                table.enter(time, true);
            }
            (Ask::Show(_, secret), Some(mine)) if table.is_closed => {
                let hand = &mut table.hands[mine];
                if hash(secret) == hand.hash {
                    hand.secret = Some(secret);
                }
            }
            (Ask::Next(_), _) if table.is_closed => {
                let won = winner(&table.hands);
                if won.is_some() || is_late {
                    won.into_iter()
                        .for_each(|seat| award(&mut table.points, seat));
                    table.former = core::mem::take(&mut table.hands);
                    table.round += 1;
                    table.enter(time, false);
                }
            }
            _ => {}
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    samovar::join_or_create(&url, &code, &name)
        .capacity(PLAYERS)
        .on_status(|status| println!("{status}"))
        .run(|_| Player::new())
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of two that was played honestly, and the player who checks it.
    fn round() -> (Player, Table) {
        let hand = |seat, secret: u8| Hand {
            seat,
            hash: hash([secret; 16]),
            secret: Some([secret; 16]),
        };
        let former = vec![hand(1, 7), hand(2, 9)];
        let noted = former.iter().map(|hand| (hand.seat, hand.hash)).collect();
        let mut table = Table { round: 1, former, ..Table::default() };
        let seat = winner(&table.former).expect("two secrets");
        award(&mut table.points, seat);
        (Player { noted, ..Player::new() }, table)
    }

    #[test]
    fn host_that_changes_a_round_is_found_out() {
        let (player, honest) = round();
        assert_eq!(player.check(&honest), Ok(()));
        let cheats: [fn(&mut Table); 6] = [
            |table| table.former[1].secret = Some([8; 16]),
            |table| {
                table.former[1].secret = Some([8; 16]);
                table.former[1].hash = hash([8; 16]);
            },
            |table| _ = table.former.pop(),
            |table| table.round += 1,
            |table| table.points[0].1 += 1,
            |table| table.points[0].0 = 3 - table.points[0].0,
        ];
        for (number, cheat) in cheats.into_iter().enumerate() {
            let mut table = honest.clone();
            cheat(&mut table);
            assert!(player.check(&table).is_err(), "cheat {number}");
        }
    }

    #[test]
    fn secret_that_is_withheld_makes_the_round_void() {
        let (player, mut table) = round();
        table.former[0].secret = None;
        table.points.clear();
        assert_eq!(player.check(&table), Ok(()));
    }

    #[test]
    fn each_card_is_dealt_once_and_each_secret_counts() {
        let hands = |last: u8| {
            [1, 2, 3, last].into_iter().zip(1..).map(|(secret, seat)| Hand {
                seat,
                hash: hash([secret; 16]),
                secret: Some([secret; 16]),
            })
        };
        let mut decks = Vec::new();
        for last in 0..50 {
            let cards = deal(&hands(last).collect::<Vec<_>>()).expect("all");
            let mut faces: Vec<_> = cards.iter().map(|card| card.1).collect();
            faces.sort_unstable();
            faces.dedup();
            assert_eq!(faces.len(), 4);
            decks.push(cards);
        }
        decks.dedup();
        assert_eq!(decks.len(), 50);
    }
}
