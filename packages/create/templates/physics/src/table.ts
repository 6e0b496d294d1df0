import RAPIER from "@dimforge/rapier2d-compat";

export const WIDTH = 800;
export const HEIGHT = 500;
export const BOX = 44;
export const HAND = 26;
/** Pixels of a metre: an engine of physics likes things of about a metre. */
const SCALE = 50;
const STEP = 1 / 60;

/** Where a box is and how it moves, in pixels and radians, per second. */
export interface Motion {
  place: readonly [number, number];
  turn: number;
  speed: readonly [number, number];
  spin: number;
}

/** A table from above, on which hands push boxes. Each member has one and steps it by itself. */
export class Table {
  readonly #world = new RAPIER.World({ x: 0, y: 0 });
  readonly #boxes = new Map<string, RAPIER.RigidBody>();
  readonly #hands = new Map<string, RAPIER.RigidBody>();
  #time = 0;

  constructor() {
    this.#world.timestep = STEP;
    const [w, h] = [WIDTH / SCALE, HEIGHT / SCALE];
    for (const [x, y, half, tall] of [
      [w / 2, -1, w, 1],
      [w / 2, h + 1, w, 1],
      [-1, h / 2, 1, h],
      [w + 1, h / 2, 1, h],
    ] as const) {
      this.#world.createCollider(RAPIER.ColliderDesc.cuboid(half, tall).setTranslation(x, y));
    }
  }

  /** Puts a hand somewhere; what it meets is pushed. */
  hand(id: string, [x, y]: readonly [number, number]): void {
    const there = { x: x / SCALE, y: y / SCALE };
    let body = this.#hands.get(id);
    if (!body) {
      const desc = RAPIER.RigidBodyDesc.kinematicPositionBased().setTranslation(there.x, there.y);
      body = this.#world.createRigidBody(desc);
      this.#world.createCollider(RAPIER.ColliderDesc.ball(HAND / SCALE), body);
      this.#hands.set(id, body);
    }
    body.setNextKinematicTranslation(there);
  }

  /** A box as this table has it; `undefined` before the first `lead` or `put`. */
  box(id: string): Motion | undefined {
    const body = this.#boxes.get(id);
    if (!body) return undefined;
    const [{ x, y }, speed] = [body.translation(), body.linvel()];
    return {
      place: [x * SCALE, y * SCALE],
      turn: body.rotation(),
      speed: [speed.x * SCALE, speed.y * SCALE],
      spin: body.angvel(),
    };
  }

  /** Puts a box somewhere. */
  put(id: string, { place, turn, speed, spin }: Motion): void {
    let body = this.#boxes.get(id);
    if (!body) {
      const desc = RAPIER.RigidBodyDesc.dynamic().setLinearDamping(1.5).setAngularDamping(1.5);
      body = this.#world.createRigidBody(desc);
      const half = BOX / 2 / SCALE;
      this.#world.createCollider(RAPIER.ColliderDesc.cuboid(half, half).setRestitution(0.3), body);
      this.#boxes.set(id, body);
    }
    body.setTranslation({ x: place[0] / SCALE, y: place[1] / SCALE }, true);
    body.setRotation(turn, true);
    body.setLinvel({ x: speed[0] / SCALE, y: speed[1] / SCALE }, true);
    body.setAngvel(spin, true);
  }

  /** Brings a box nearer to where the host has it: a tenth of the way, or all of it when it is far off. */
  lead(id: string, host: Motion): void {
    const here = this.box(id);
    const apart = here ? Math.hypot(host.place[0] - here.place[0], host.place[1] - here.place[1]) : Infinity;
    if (!here || apart > BOX) return this.put(id, host);
    const near = (from: number, to: number) => from + (to - from) / 10;
    // The short way round.
    const turned = Math.atan2(Math.sin(host.turn - here.turn), Math.cos(host.turn - here.turn));
    this.put(id, {
      place: [near(here.place[0], host.place[0]), near(here.place[1], host.place[1])],
      turn: here.turn + turned / 10,
      speed: [near(here.speed[0], host.speed[0]), near(here.speed[1], host.speed[1])],
      spin: near(here.spin, host.spin),
    });
  }

  /** Takes away what is there no more. */
  keep(ids: ReadonlySet<string>): void {
    for (const bodies of [this.#boxes, this.#hands]) {
      for (const [id, body] of bodies) {
        if (ids.has(id)) continue;
        this.#world.removeRigidBody(body);
        bodies.delete(id);
      }
    }
  }

  /** Steps to this time, in seconds. A table that was away for long does not catch up. */
  step(time: number): void {
    this.#time = Math.max(this.#time, time - 0.1);
    for (; this.#time + STEP <= time; this.#time += STEP) this.#world.step();
  }
}
