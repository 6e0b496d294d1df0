// A player's input to one step of a world, as bytes. The input of a player who does nothing is zeros.

import { SamovarError } from "./error.js";
import { read, write } from "./schema.js";
import type { Fields, Values } from "./schema.js";

const BYTES_MAX = 64;

/** @internal How the inputs of a game become bytes. */
export class InputCoding<I extends Fields> {
  /** The bytes of an input. */
  readonly bytes: number;
  /** The least number and the count of numbers of each place, and the numbers of a player who does nothing. */
  readonly #places: { min: number; count: number; rest: number }[] = [];
  readonly #texts: number[] = [];

  constructor(private readonly fields: I) {
    let bits = 0;
    for (const { coded } of Object.values(fields)) {
      const { form, width, min, max } = coded;
      if (form === "text") {
        this.#texts.push(max);
        bits += 8 + 8 * max;
        continue;
      }
      const count = form === "grid" ? max - min + 1 : max;
      const rest = Math.min(Math.max(0, min), max);
      for (let place = 0; place < width; place++) this.#places.push({ min, count, rest });
      bits += width * bitsOf(count);
    }
    this.bytes = Math.max(1, Math.ceil(bits / 8));
    if (this.bytes > BYTES_MAX) {
      throw new SamovarError(
        "BadSchema",
        `an input takes at most ${BYTES_MAX} bytes, and this one ${this.bytes}`,
      );
    }
  }

  /** The bytes of an input; `undefined` is that of a player who does nothing. */
  write(values: Values<I> | undefined): Uint8Array {
    const bytes = new Uint8Array(this.bytes);
    if (values === undefined) return bytes;
    const [numbers, texts] = write(this.fields, values);
    const bits = new Bits(bytes);
    this.#places.forEach(({ count, rest }, place) => {
      bits.write((numbers[place]! - rest + count) % count, bitsOf(count));
    });
    this.#texts.forEach((max, index) => {
      const text = texts[index]!;
      bits.write(text.length, 8);
      for (let at = 0; at < max; at++) bits.write(text[at] ?? 0, 8);
    });
    return bytes;
  }

  /** The input in these bytes. A member that breaks the rules may send any. */
  read(bytes: Uint8Array): Values<I> {
    const bits = new Bits(bytes);
    const numbers = this.#places.map(({ min, count, rest }) => {
      const offset = bits.read(bitsOf(count)) % count;
      return min + ((offset + rest - min) % count);
    });
    const texts = this.#texts.map((max) => {
      const length = Math.min(bits.read(8), max);
      return Uint8Array.from({ length: max }, () => bits.read(8)).subarray(0, length);
    });
    return read(this.fields, Int32Array.from(numbers), texts) as Values<I>;
  }
}

/** The bits that tell so many values apart. */
function bitsOf(count: number): number {
  return 32 - Math.clz32(count - 1);
}

class Bits {
  #at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  write(value: number, count: number): void {
    for (let bit = 0; bit < count; bit++, this.#at++) {
      if (Math.floor(value / 2 ** bit) % 2 === 1) this.bytes[this.#at >> 3]! |= 1 << (this.#at & 7);
    }
  }

  read(count: number): number {
    let value = 0;
    for (let bit = 0; bit < count; bit++, this.#at++) {
      if (((this.bytes[this.#at >> 3] ?? 0) >> (this.#at & 7)) & 1) value += 2 ** bit;
    }
    return value;
  }
}
