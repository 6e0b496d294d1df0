// The types of objects of a game: what each field holds, and how its values become numbers and texts.

import { SamovarError } from "./error.js";

/** How a field is sent: its form, width, least and largest number, step, and how it moves. */
interface Coded {
  form: "grid" | "angle" | "choice" | "text";
  width: number;
  min: number;
  max: number;
  step: number;
  smooth: boolean;
  rate?: string;
  place: boolean;
  /** The words of a choice. */
  words?: readonly string[];
}

/** A field of a type of objects. Make one with `range`, `int`, `angle`, `flag`, `choice` or `text`. */
export interface Field<T> {
  /** For types alone. */
  readonly value?: T;
  /** @internal */ readonly coded: Coded;
  /** @internal */ write(value: T, numbers: number[], texts: Uint8Array[]): void;
  /** @internal */ read(numbers: Int32Array, at: number, texts: Uint8Array[], text: number): T;
}

/** How a number moves between two updates. */
export interface Moving {
  /** The number goes on as it changed last: a velocity, a cursor. */
  smooth?: boolean;
  /** The name of the field that says how fast the number changes, per second: the velocity of a position. */
  rate?: string;
  /** Whether the field says where the object is. */
  place?: boolean;
}

const still = { smooth: false, place: false };

function fail(text: string): never {
  throw new SamovarError("BadSchema", text);
}

function grid(width: number, [least, most]: readonly [number, number], step: number, moving: Moving): Coded {
  if (!(least < most) || !(step > 0)) fail(`a range from ${least} to ${most} in steps of ${step} is empty`);
  const [min, max] = [Math.round(least / step), Math.round(most / step)];
  if (max > 2 ** 31 - 1 || min < -(2 ** 31))
    fail(`a range from ${least} to ${most} has too many steps of ${step}`);
  return {
    form: "grid",
    width,
    min,
    max,
    step,
    smooth: !!moving.smooth,
    rate: moving.rate,
    place: !!moving.place,
  };
}

function bad(text: string): never {
  throw new SamovarError("BadValue", text);
}

/** The number of steps of a value. */
function clamp(value: unknown, { min, max, step }: Coded): number {
  if (typeof value !== "number" || Number.isNaN(value)) bad(`${String(value)} is no number`);
  return Math.min(Math.max(Math.round(value / step), min), max);
}

/** So many steps as a number: three tenths are 0.3, and not 0.30000000000000004. */
function steps(count: number, step: number): number {
  const parts = Math.round(1 / step);
  return Math.abs(parts * step - 1) < 1e-9 ? count / parts : count * step;
}

/** A number within a range, rounded to a precision. A value beyond the range becomes the nearest one. */
export function range(
  bounds: readonly [number, number],
  options: { precision: number } & Moving,
): Field<number> {
  const coded = grid(1, bounds, options.precision, options);
  return {
    coded,
    write: (value, numbers) => void numbers.push(clamp(value, coded)),
    read: (numbers, at) => steps(numbers[at]!, coded.step),
  };
}

/** So many numbers. */
export type Tuple<D extends 2 | 3 | 4> = D extends 2
  ? readonly [number, number]
  : D extends 3
    ? readonly [number, number, number]
    : readonly [number, number, number, number];

/** Two to four numbers within a range: a place, a velocity. */
export function vector<D extends 2 | 3 | 4>(
  dims: D,
  bounds: readonly [number, number],
  options: { precision: number } & Moving,
): Field<Tuple<D>> {
  const coded = grid(dims, bounds, options.precision, options);
  return {
    coded,
    write(value, numbers) {
      const given = value as readonly number[] | undefined;
      if (given?.length !== dims) bad(`${JSON.stringify(value)} has not ${dims} numbers`);
      for (let axis = 0; axis < dims; axis++) numbers.push(clamp(given[axis], coded));
    },
    read: (numbers, at) => {
      const values = Array.from(numbers.subarray(at, at + dims), (number) => steps(number, coded.step));
      return values as readonly number[] as Tuple<D>;
    },
  };
}

/** A whole number within a range. */
export function int(bounds: readonly [number, number]): Field<number> {
  return range(bounds, { precision: 1 });
}

/** An angle in radians, which goes on behind a whole turn. */
export function angle(options: { precision?: number } & Omit<Moving, "place"> = {}): Field<number> {
  const turn = Math.max(4, Math.round((2 * Math.PI) / (options.precision ?? 0.01)));
  const step = (2 * Math.PI) / turn;
  const coded: Coded = {
    form: "angle",
    width: 1,
    min: 0,
    max: turn,
    step,
    smooth: !!options.smooth,
    rate: options.rate,
    place: false,
  };
  return {
    coded,
    write(value, numbers) {
      if (!Number.isFinite(value)) bad(`${String(value)} is no angle`);
      const steps = Math.round(value / step) % turn;
      numbers.push(steps < 0 ? steps + turn : steps);
    },
    read: (numbers, at) => numbers[at]! * step,
  };
}

/** One of some words. */
export function choice<const W extends readonly [string, ...string[]]>(...words: W): Field<W[number]> {
  return {
    coded: { form: "choice", width: 1, min: 0, max: words.length, step: 1, ...still, words },
    write: (value, numbers) => {
      const place = words.indexOf(value);
      if (place < 0) bad(`${JSON.stringify(value)} is none of ${words.join(", ")}`);
      numbers.push(place);
    },
    read: (numbers, at) => words[numbers[at]!] ?? words[0],
  };
}

/** `true` or `false`. */
export function flag(): Field<boolean> {
  return {
    coded: { form: "choice", width: 1, min: 0, max: 2, step: 1, ...still },
    write: (value, numbers) => {
      if (typeof value !== "boolean") bad(`${JSON.stringify(value)} is neither true nor false`);
      numbers.push(value ? 1 : 0);
    },
    read: (numbers, at) => numbers[at] === 1,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A text of at most so many bytes as UTF-8, up to 255. A longer one is cut behind a whole character. */
export function text(bytes: number): Field<string> {
  if (!(bytes >= 1 && bytes <= 255)) fail(`a text has 1 to 255 bytes, and not ${bytes}`);
  return {
    coded: { form: "text", width: 0, min: 0, max: bytes, step: 1, ...still },
    write(value, _, texts) {
      if (typeof value !== "string") bad(`${JSON.stringify(value)} is no text`);
      const buffer = new Uint8Array(bytes);
      const { written } = encoder.encodeInto(value, buffer);
      texts.push(buffer.slice(0, written));
    },
    read: (_, __, texts, text) => decoder.decode(texts[text]),
  };
}

/** What happens to an object when its owner goes, and who may ask for it. */
export interface Sharing {
  /** `seat`: it waits for its player. `host`, `nearest`: another member takes it over. `ends`: it ends. */
  orphan?: "seat" | "host" | "nearest" | "ends";
  /** `owner`: nobody may ask for it. `free`: all, while the host owns it. `shared`: all, at any time. */
  access?: "owner" | "free" | "shared";
  /** Whether each change arrives, in order, instead of the newest alone. */
  reliable?: boolean;
}

/** The fields of a type of objects. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Fields = Record<string, Field<any>>;

/** The values of an object with these fields. */
export type Values<F extends Fields> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** A type of objects. Make one with `object`. */
export interface ObjectType<F extends Fields = Fields> {
  readonly name: string;
  readonly fields: F;
  readonly sharing: Sharing;
}

/** A type of objects that members of a game share. */
export function object<F extends Fields>(name: string, fields: F, sharing: Sharing = {}): ObjectType<F> {
  const names = Object.keys(fields);
  if (names.length === 0) fail(`the objects “${name}” have no field`);
  for (const taken of ["id", "owner", "isMine"]) {
    if (names.includes(taken))
      fail(`each object has its own “${taken}”: name the field of “${name}” otherwise`);
  }
  for (const [field, { coded }] of Object.entries(fields)) {
    if (coded.rate !== undefined && !names.includes(coded.rate)) {
      fail(`“${name}.${field}” moves by “${coded.rate}”, which is no field of “${name}”`);
    }
  }
  const { orphan = "seat", access = "owner" } = sharing;
  if (!["seat", "host", "nearest", "ends"].includes(orphan))
    fail(`“${name}”: there is no orphan “${orphan}”`);
  if (!["owner", "free", "shared"].includes(access)) fail(`“${name}”: there is no access “${access}”`);
  if (orphan === "nearest" && !Object.values(fields).some(({ coded }) => coded.place)) {
    fail(`“${name}” goes to the nearest member: say by \`place: true\` which field says where it is`);
  }
  return { name, fields, sharing };
}

/** @internal The type as the core wants it. */
export function planOf({ fields, sharing }: ObjectType): unknown[] {
  const names = Object.keys(fields);
  const list = names.map((name) => {
    const { form, width, min, max, step, smooth, rate, place } = fields[name]!.coded;
    const moves = rate !== undefined ? names.indexOf(rate) : smooth ? -1 : -2;
    return [name, form, width, min, max, step, moves, place];
  });
  return [list, sharing.orphan ?? "seat", sharing.access ?? "owner", sharing.reliable ?? false];
}

/** @internal */
export function write(fields: Fields, values: Record<string, unknown>): [Int32Array, Uint8Array[]] {
  const numbers: number[] = [];
  const texts: Uint8Array[] = [];
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(fields, name))
      bad(`there is no field “${name}”: the fields are ${Object.keys(fields).join(", ")}`);
  }
  for (const [name, field] of Object.entries(fields)) {
    try {
      field.write(values[name], numbers, texts);
    } catch (why) {
      throw why instanceof SamovarError
        ? new SamovarError(why.code, `the field “${name}”: ${why.message}`)
        : why;
    }
  }
  return [Int32Array.from(numbers), texts];
}

/** @internal */
export function read(fields: Fields, numbers: Int32Array, texts: Uint8Array[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  let [at, text] = [0, 0];
  for (const [name, field] of Object.entries(fields)) {
    values[name] = field.read(numbers, at, texts, text);
    if (field.coded.form === "text") text++;
    else at += field.coded.width;
  }
  return values;
}
