//! How an app enters a room, and the systems that play it.

use bevy_app::{App, First, Last};
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::{Component, Mut, World};
use samovar::{Entry, Error, Game, ObjectOf};

use crate::news::{Heard, Messages, RoomNews};
use crate::objects::Objects;
use crate::room::Room;

/// Rooms for an [`App`].
pub trait SamovarApp {
    /// Enters a room. `game` makes the game when this program becomes a member, and again if it had lost its seat.
    ///
    /// The game's [`decide`](Game::decide) and [`listing`](Game::listing) are called as anywhere. Its
    /// [`frame`](Game::frame) is not: the app's systems play the frames, between the schedules `First` and `Last`.
    ///
    /// # Errors
    /// The settings of the entry cannot work. Later errors are in [`Room::end`].
    fn enter<G: Game>(
        &mut self,
        entry: Entry,
        game: impl FnMut() -> G + Send + 'static,
    ) -> Result<&mut Self, Error>;

    /// Shares the components of this type in the room of `G`, which names the type among its objects.
    ///
    /// # Panics
    /// The app has not entered a room of `G`.
    fn share<G: Game, T>(&mut self) -> &mut Self
    where
        T: ObjectOf<G> + Component<Mutability = Mutable> + Clone + PartialEq;

    /// Writes the messages of members as [`Heard`]. `take` takes those that the game's [`message`](Game::message) has
    /// kept.
    ///
    /// # Panics
    /// The app has not entered a room of `G`.
    fn hear<G: Game>(&mut self, take: fn(&mut G) -> Messages<G>) -> &mut Self
    where
        G::Message: Sync;
}

impl SamovarApp for App {
    fn enter<G: Game>(
        &mut self,
        entry: Entry,
        mut game: impl FnMut() -> G + Send + 'static,
    ) -> Result<&mut Self, Error> {
        self.insert_resource(Room::<G>::new(entry.start(move |_| game())?));
        self.add_message::<RoomNews>();
        self.add_systems(First, receive::<G>).add_systems(Last, send::<G>);
        Ok(self)
    }

    fn share<G: Game, T>(&mut self) -> &mut Self
    where
        T: ObjectOf<G> + Component<Mutability = Mutable> + Clone + PartialEq,
    {
        self.world_mut().resource_mut::<Room<G>>().share(Box::new(Objects::<T>::default()));
        self
    }

    fn hear<G: Game>(&mut self, take: fn(&mut G) -> Messages<G>) -> &mut Self
    where
        G::Message: Sync,
    {
        self.add_message::<Heard<G>>();
        self.world_mut().resource_mut::<Room<G>>().hear(move |game, world| {
            for (from, message) in take(game) {
                world.write_message(Heard::<G> { from, message });
            }
        });
        self
    }
}

/// Takes what has arrived, before the app's systems.
fn receive<G: Game>(world: &mut World) {
    world.resource_scope(|world, mut room: Mut<'_, Room<G>>| {
        for news in room.receive(world) {
            world.write_message(news);
        }
    });
}

/// Sends what the app's systems have changed.
fn send<G: Game>(world: &mut World) {
    world.resource_scope(|world, mut room: Mut<'_, Room<G>>| room.send(world));
}
