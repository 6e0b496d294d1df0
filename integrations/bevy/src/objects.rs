//! The entities of shared components.

use std::collections::{BTreeMap, BTreeSet};

use bevy_ecs::change_detection::DetectChanges as _;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::{Component, Entity, Ref, With, Without, World};
use samovar::{Game, Id, Member, ObjectOf, OrLog as _, Room};

/// Marks an entity whose shared components others shall see, each as an entity of its own. This program owns what it shares, until it gives it away
/// or another member touches it.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Share;

/// Asks for an entity of another member, because this player touches it: see
/// [`Room::touch`](samovar::Room::touch), and `#[object(access = "touch")]`. The marker goes when the entity has been asked for.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Touch;

/// The owner of a shared entity. Only its owner's changes count.
#[derive(Component, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Owner {
    /// The owner.
    pub member: Member,
    /// Whether this program owns the entity.
    pub is_me: bool,
}

/// The entities of all components of a type in the room of `G`.
pub(crate) trait Kind<G: Game>: Send {
    /// Brings the entities up to what the room has.
    fn receive(&mut self, room: &Room<'_, G>, world: &mut World);
    /// Brings the room up to what this program's entities are.
    fn send(&mut self, room: &mut Room<'_, G>, world: &mut World);
}

/// The entities of the components of type `T`.
pub(crate) struct Objects<T> {
    entities: BTreeMap<Id<T>, Entity>,
    own: BTreeSet<Id<T>>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { entities: BTreeMap::new(), own: BTreeSet::new() }
    }
}

/// The name of the object that an entity stands for.
#[derive(Component)]
struct Name<T: Send + Sync + 'static>(Id<T>);

impl<G: Game, T: ObjectOf<G> + Component<Mutability = Mutable> + Clone + PartialEq> Kind<G> for Objects<T> {
    fn receive(&mut self, room: &Room<'_, G>, world: &mut World) {
        let own: BTreeSet<_> = room.mine::<T>().into_iter().map(|seen| seen.id).collect();
        let mut gone = core::mem::take(&mut self.entities);
        for seen in room.all::<T>() {
            let is_me = own.contains(&seen.id);
            let owner = Owner { member: seen.owner, is_me };
            let before = gone.remove(&seen.id);
            let known = before.filter(|&entity| world.get_entity(entity).is_ok());
            if let (Some(before), None, true) = (before, known, is_me) {
                // The app has despawned its entity since the last frame, and `send` ends the object.
                self.entities.insert(seen.id, before);
                continue;
            }
            let entity = known.unwrap_or_else(|| world.spawn((seen.value.clone(), Name(seen.id))).id());
            self.entities.insert(seen.id, entity);
            let mut entity = world.entity_mut(entity);
            // The owner's component is the newest.
            if !is_me && entity.get::<T>() != Some(&seen.value) {
                entity.insert(seen.value);
            }
            if entity.get::<Owner>() != Some(&owner) {
                entity.insert(owner);
            }
        }
        for entity in gone.into_values() {
            // The app may have despawned it already.
            world.try_despawn(entity).unwrap_or_default();
        }
        self.own = own;
    }

    fn send(&mut self, room: &mut Room<'_, G>, world: &mut World) {
        let mut new = world.query_filtered::<(Entity, &T), (With<Share>, Without<Name<T>>)>();
        let new: Vec<_> = new.iter(world).map(|(entity, value)| (entity, value.clone())).collect();
        for (entity, value) in new {
            let Ok(id) = room.create(&value) else { continue };
            self.entities.insert(id, entity);
            self.own.insert(id);
            let mut entity = world.entity_mut(entity);
            entity.insert(Name(id));
            if let Some(member) = room.me() {
                entity.insert(Owner { member, is_me: true });
            }
        }
        let mut touched = world.query_filtered::<(Entity, &Name<T>), With<Touch>>();
        let touched: Vec<_> = touched.iter(world).map(|(entity, name)| (entity, name.0)).collect();
        for (entity, id) in touched {
            room.touch(id).or_log();
            world.entity_mut(entity).remove::<Touch>();
        }
        let mut ended = Vec::new();
        for &id in &self.own {
            let entity = self.entities.get(&id).and_then(|&entity| world.get_entity(entity).ok());
            match entity.and_then(|entity| entity.get_ref::<T>()) {
                Some(value) if Ref::is_changed(&value) => {
                    room.edit(id, |it| it.clone_from(&value)).or_log();
                }
                Some(_) => {}
                // The app has despawned the entity, or removed the component.
                None => ended.push(id),
            }
        }
        for id in ended {
            room.destroy(id).or_log();
            self.own.remove(&id);
            let entity = self.entities.remove(&id).and_then(|entity| world.get_entity_mut(entity).ok());
            if let Some(mut entity) = entity {
                entity.remove::<(Name<T>, Share, Owner)>();
            }
        }
    }
}

/// The members of a room that are not in another list.
pub(crate) fn missing<'a>(of: &'a [Member], other: &'a [Member]) -> impl Iterator<Item = &'a Member> {
    of.iter().filter(|one| other.iter().all(|other| other.seat != one.seat))
}
