// Lockstep: a world that all members compute by themselves, step by step, from the same inputs.

import { SamovarError } from "./error.js";
import { InputCoding } from "./input.js";
import type { Fields, Values } from "./schema.js";

/** The inputs to one step of a world. */
export interface Turn<I> {
  /** Its number; the first has 1. */
  readonly number: number;
  /** The input of each player, in the order of their seats. A player whose input is late repeats the former one. */
  readonly inputs: readonly { readonly seat: number; readonly input: I }[];
  /** The seats of the players that play from this step on. */
  readonly joined: readonly number[];
  /** The seats of the players that play no longer. */
  readonly left: readonly number[];
}

/**
 * A world that all members compute alike: each steps its own copy by the same inputs, so that only inputs are sent.
 *
 * The members stay alike if a step depends on the world and the turn alone: on no clock, no `Math.random` and no
 * `Math.sin` and its like, whose last digits differ between browsers. A member whose world differs all the same takes
 * over the host's.
 */
export interface World<W, I extends Fields> {
  /** The fields of a player's input to one step: at most 64 bytes. */
  input: I;
  /** Steps a second, 1 to 200; 30 unless set. */
  stepsPerSecond?: number | undefined;
  /**
   * The world before its first step: plain data, at most 61,440 bytes as JSON. The world of the member that makes the
   * room counts. `seed` is a random number.
   */
  begin(seed: number): W;
  /** One step, which changes the world. */
  step(world: W, turn: Turn<Values<I>>): void;
}

/** A world of a game, with the types of its parts kept together. */
export function world<W, I extends Fields>(world: World<W, I>): World<W, I> {
  return world;
}

const BYTES_MAX = 61_440;

/** The text of a world. A newcomer could not load a longer one. */
function textOf(world: unknown): string {
  const text = JSON.stringify(world) as string | undefined;
  if (text === undefined) throw new SamovarError("BadWorld", "a world is plain data");
  // A letter takes three bytes at most, so a short text need not be counted.
  const bytes = 3 * text.length > BYTES_MAX ? new TextEncoder().encode(text).length : 0;
  if (bytes > BYTES_MAX)
    throw new SamovarError("BadWorld", `a world has at most ${BYTES_MAX} bytes, and this one ${bytes}`);
  return text;
}

/** @internal A member's copy of a world. */
export class Copy<W, I extends Fields> {
  readonly coding: InputCoding<I>;
  readonly stepsPerSecond: number;
  /** Whether a step runs. */
  isStepping = false;

  #text = "";
  #before!: W;
  #world!: W;
  #stepped = 0;
  #input: Uint8Array;
  #told = "";

  /** `fail` hears why a world cannot be, once the core is at rest. */
  constructor(
    private readonly world: World<W, I>,
    private readonly fail: (why: SamovarError) => void,
  ) {
    this.coding = new InputCoding(world.input);
    this.stepsPerSecond = world.stepsPerSecond ?? 30;
    if (!Number.isInteger(this.stepsPerSecond) || this.stepsPerSecond < 1 || this.stepsPerSecond > 200) {
      throw new SamovarError(
        "BadSchema",
        `a world makes 1 to 200 steps a second, and not ${this.stepsPerSecond}`,
      );
    }
    this.#input = this.coding.write(undefined);
  }

  /** The world after its last step. */
  get now(): W {
    return this.#world;
  }

  /** The worlds before and after the last step, and how far the present is from the first to the second, 0 to 1. */
  get between(): { before: W; after: W; share: number } {
    const steps = ((performance.now() - this.#stepped) * this.stepsPerSecond) / 1_000;
    return { before: this.#before, after: this.#world, share: Math.min(1, steps) };
  }

  /** The input in force; `undefined` before one was set. */
  values?: Values<I>;

  set input(values: Values<I>) {
    this.values = values;
    this.#input = this.coding.write(values);
  }

  /** What the core calls. */
  readonly hooks = {
    begin: (seed: number): void => {
      try {
        this.#take(textOf(this.world.begin(seed)));
      } catch (cause) {
        this.#take("null");
        const why = cause instanceof SamovarError ? cause : undefined;
        const text = `the world's begin failed: ${String(cause)}`;
        queueMicrotask(() => this.fail(why ?? new SamovarError("BadWorld", text, { cause })));
      }
    },
    input: (): Uint8Array => this.#input,
    step: (number: number, inputs: [number, Uint8Array][], joined: Uint16Array, left: Uint16Array): void => {
      const turn = {
        number,
        inputs: inputs.map(([seat, bytes]) => ({ seat, input: this.coding.read(bytes) })),
        joined: [...joined],
        left: [...left],
      };
      const world = JSON.parse(this.#text) as W;
      const before = this.#world;
      this.isStepping = true;
      try {
        this.world.step(world, turn);
        this.#take(textOf(world));
      } catch (why) {
        // The step fails at all members alike, and changes nothing at any.
        if (this.#told !== String(why)) console.error("samovar: a step of the world failed", why);
        this.#told = String(why);
      } finally {
        this.isStepping = false;
      }
      this.#before = before;
      this.#stepped = performance.now();
    },
    save: (): string => this.#text,
    load: (text: string): void => {
      try {
        this.#take(text);
      } catch {
        // A member that breaks the rules may send anything.
      }
    },
    fields: (text: string): [string, string][] => {
      try {
        const fields = Object.entries((JSON.parse(text) as object | null) ?? {});
        return fields.map(([name, value]) => [name, JSON.stringify(value) ?? ""]);
      } catch {
        return [];
      }
    },
  };

  /** Takes over the world in a text, as all members read it. */
  #take(text: string): void {
    this.#before = this.#world = JSON.parse(text) as W;
    this.#text = text;
  }
}
