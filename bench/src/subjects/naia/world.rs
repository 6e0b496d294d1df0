//! The world that naia asks of a game: entities with components. An entity is an index, its components a short list.

use std::ops::{Deref, DerefMut};

use naia_shared::{
    ComponentFieldUpdate, ComponentKind, ComponentKinds, ComponentUpdate, EntityAndGlobalEntityConverter,
    EntityAuthAccessor, GlobalWorldManagerType, LocalEntityAndGlobalEntityConverter, ReplicaDynMutWrapper,
    ReplicaDynRefWrapper, ReplicaMutTrait, ReplicaMutWrapper, ReplicaRefTrait, ReplicaRefWrapper, Replicate,
    ReplicatedComponent, SerdeErr, WorldMutType, WorldRefType,
};

type Components = Vec<(ComponentKind, Box<dyn Replicate>)>;

#[derive(Default)]
pub(super) struct World {
    entities: Vec<Option<Components>>,
}

impl World {
    /// The component of an entity, which must have it.
    pub(super) fn body_mut<R: ReplicatedComponent>(&mut self, entity: usize) -> &mut R {
        self.typed_mut(entity).expect("the entity has the component")
    }

    /// All components of one type.
    pub(super) fn bodies<R: ReplicatedComponent>(&self) -> impl Iterator<Item = &R> {
        (0..self.entities.len()).filter_map(|entity| self.typed(entity))
    }

    fn of_kind(&self, entity: usize, kind: &ComponentKind) -> Option<&dyn Replicate> {
        let components = self.entities.get(entity)?.as_ref()?;
        components.iter().find(|(k, _)| k == kind).map(|(_, component)| &**component)
    }

    fn of_kind_mut(&mut self, entity: usize, kind: &ComponentKind) -> Option<&mut Box<dyn Replicate>> {
        let components = self.entities.get_mut(entity)?.as_mut()?;
        components.iter_mut().find(|(k, _)| k == kind).map(|(_, component)| component)
    }

    fn typed<R: ReplicatedComponent>(&self, entity: usize) -> Option<&R> {
        self.of_kind(entity, &ComponentKind::of::<R>())?.to_any().downcast_ref()
    }

    fn typed_mut<R: ReplicatedComponent>(&mut self, entity: usize) -> Option<&mut R> {
        self.of_kind_mut(entity, &ComponentKind::of::<R>())?.to_any_mut().downcast_mut()
    }
}

struct Ref<'a, R>(&'a R);

struct Mut<'a, R>(&'a mut R);

impl<R: Replicate> ReplicaRefTrait<R> for Ref<'_, R> {
    fn to_ref(&self) -> &R {
        self.0
    }
}

impl<R: Replicate> ReplicaRefTrait<R> for Mut<'_, R> {
    fn to_ref(&self) -> &R {
        self.0
    }
}

impl<R: Replicate> ReplicaMutTrait<R> for Mut<'_, R> {
    fn to_mut(&mut self) -> &mut R {
        self.0
    }
}

/// Wraps a reference to a world, because naia takes the world by value.
pub(super) struct Lent<W>(pub(super) W);

impl<W: Deref<Target = World>> Deref for Lent<W> {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl<W: DerefMut<Target = World>> DerefMut for Lent<W> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.0
    }
}

impl<W: Deref<Target = World>> WorldRefType<usize> for Lent<W> {
    fn has_entity(&self, entity: &usize) -> bool {
        self.entities.get(*entity).is_some_and(Option::is_some)
    }

    fn entities(&self) -> Vec<usize> {
        (0..self.entities.len()).filter(|&entity| self.entities[entity].is_some()).collect()
    }

    fn has_component<R: ReplicatedComponent>(&self, entity: &usize) -> bool {
        self.typed::<R>(*entity).is_some()
    }

    fn has_component_of_kind(&self, entity: &usize, kind: &ComponentKind) -> bool {
        self.of_kind(*entity, kind).is_some()
    }

    fn component<'a, R: ReplicatedComponent>(&'a self, entity: &usize) -> Option<ReplicaRefWrapper<'a, R>> {
        self.typed(*entity).map(|component| ReplicaRefWrapper::new(Ref(component)))
    }

    fn component_of_kind<'a>(
        &'a self,
        entity: &usize,
        kind: &ComponentKind,
    ) -> Option<ReplicaDynRefWrapper<'a>> {
        self.of_kind(*entity, kind).map(|component| ReplicaDynRefWrapper::new(component.dyn_ref()))
    }
}

impl<W: DerefMut<Target = World>> WorldMutType<usize> for Lent<W> {
    fn spawn_entity(&mut self) -> usize {
        self.entities.push(Some(Vec::new()));
        self.entities.len() - 1
    }

    fn local_duplicate_entity(&mut self, entity: &usize) -> usize {
        let copy = self.spawn_entity();
        self.local_duplicate_components(&copy, entity);
        copy
    }

    fn local_duplicate_components(&mut self, to: &usize, from: &usize) {
        for kind in self.component_kinds(from) {
            if let Some(component) = self.of_kind(*from, &kind).map(Replicate::copy_to_box) {
                self.insert_boxed_component(to, component);
            }
        }
    }

    fn despawn_entity(&mut self, entity: &usize) {
        self.entities[*entity] = None;
    }

    fn component_kinds(&mut self, entity: &usize) -> Vec<ComponentKind> {
        self.entities[*entity].iter().flatten().map(|(kind, _)| *kind).collect()
    }

    fn component_mut<'a, R: ReplicatedComponent>(
        &'a mut self,
        entity: &usize,
    ) -> Option<ReplicaMutWrapper<'a, R>> {
        self.typed_mut(*entity).map(|component| ReplicaMutWrapper::new(Mut(component)))
    }

    fn component_mut_of_kind<'a>(
        &'a mut self,
        entity: &usize,
        kind: &ComponentKind,
    ) -> Option<ReplicaDynMutWrapper<'a>> {
        self.of_kind_mut(*entity, kind).map(|component| ReplicaDynMutWrapper::new(component.dyn_mut()))
    }

    fn component_apply_update(
        &mut self,
        converter: &dyn LocalEntityAndGlobalEntityConverter,
        entity: &usize,
        kind: &ComponentKind,
        update: ComponentUpdate,
    ) -> Result<(), SerdeErr> {
        self.of_kind_mut(*entity, kind).map_or(Ok(()), |c| c.read_apply_update(converter, update))
    }

    fn component_apply_field_update(
        &mut self,
        converter: &dyn LocalEntityAndGlobalEntityConverter,
        entity: &usize,
        kind: &ComponentKind,
        update: ComponentFieldUpdate,
    ) -> Result<(), SerdeErr> {
        self.of_kind_mut(*entity, kind).map_or(Ok(()), |c| c.read_apply_field_update(converter, update))
    }

    fn mirror_entities(&mut self, to: &usize, from: &usize) {
        for kind in self.component_kinds(from) {
            self.mirror_components(to, from, &kind);
        }
    }

    fn mirror_components(&mut self, to: &usize, from: &usize, kind: &ComponentKind) {
        let Some(copy) = self.of_kind(*from, kind).map(Replicate::copy_to_box) else { return };
        if let Some(component) = self.of_kind_mut(*to, kind) {
            component.mirror(&*copy);
        }
    }

    fn insert_component<R: ReplicatedComponent>(&mut self, entity: &usize, component: R) {
        self.insert_boxed_component(entity, Box::new(component));
    }

    fn insert_boxed_component(&mut self, entity: &usize, component: Box<dyn Replicate>) {
        if let Some(components) = self.entities[*entity].as_mut() {
            components.push((component.kind(), component));
        }
    }

    fn remove_component<R: ReplicatedComponent>(&mut self, entity: &usize) -> Option<R> {
        let component = self.remove_component_of_kind(entity, &ComponentKind::of::<R>())?;
        component.to_boxed_any().downcast().ok().map(|component| *component)
    }

    fn remove_component_of_kind(
        &mut self,
        entity: &usize,
        kind: &ComponentKind,
    ) -> Option<Box<dyn Replicate>> {
        let components = self.entities[*entity].as_mut()?;
        let index = components.iter().position(|(k, _)| k == kind)?;
        Some(components.swap_remove(index).1)
    }

    fn entity_publish(
        &mut self,
        component_kinds: &ComponentKinds,
        converter: &dyn EntityAndGlobalEntityConverter<usize>,
        manager: &dyn GlobalWorldManagerType,
        entity: &usize,
    ) {
        for kind in self.component_kinds(entity) {
            self.component_publish(component_kinds, converter, manager, entity, &kind);
        }
    }

    fn component_publish(
        &mut self,
        component_kinds: &ComponentKinds,
        converter: &dyn EntityAndGlobalEntityConverter<usize>,
        manager: &dyn GlobalWorldManagerType,
        entity: &usize,
        kind: &ComponentKind,
    ) {
        let Some(component) = self.of_kind_mut(*entity, kind) else { return };
        let Ok(global) = converter.entity_to_global_entity(entity) else { return };
        let length = component.diff_mask_size();
        component.publish(&manager.register_component(component_kinds, &global, kind, length));
    }

    fn entity_unpublish(&mut self, entity: &usize) {
        for kind in self.component_kinds(entity) {
            self.component_unpublish(entity, &kind);
        }
    }

    fn component_unpublish(&mut self, entity: &usize, kind: &ComponentKind) {
        if let Some(component) = self.of_kind_mut(*entity, kind) {
            component.unpublish();
        }
    }

    fn entity_enable_delegation(
        &mut self,
        component_kinds: &ComponentKinds,
        converter: &dyn EntityAndGlobalEntityConverter<usize>,
        manager: &dyn GlobalWorldManagerType,
        entity: &usize,
    ) {
        for kind in self.component_kinds(entity) {
            self.component_enable_delegation(component_kinds, converter, manager, entity, &kind);
        }
    }

    fn component_enable_delegation(
        &mut self,
        component_kinds: &ComponentKinds,
        converter: &dyn EntityAndGlobalEntityConverter<usize>,
        manager: &dyn GlobalWorldManagerType,
        entity: &usize,
        kind: &ComponentKind,
    ) {
        let Some(component) = self.of_kind_mut(*entity, kind) else { return };
        let Ok(global) = converter.entity_to_global_entity(entity) else { return };
        let accessor: EntityAuthAccessor = manager.get_entity_auth_accessor(&global);
        let needs_mutator = manager.entity_needs_mutator_for_delegation(&global);
        let length = component.diff_mask_size();
        let mutator =
            needs_mutator.then(|| manager.register_component(component_kinds, &global, kind, length));
        component.enable_delegation(&accessor, mutator.as_ref());
    }

    fn entity_disable_delegation(&mut self, entity: &usize) {
        for kind in self.component_kinds(entity) {
            self.component_disable_delegation(entity, &kind);
        }
    }

    fn component_disable_delegation(&mut self, entity: &usize, kind: &ComponentKind) {
        if let Some(component) = self.of_kind_mut(*entity, kind) {
            component.disable_delegation();
        }
    }
}
