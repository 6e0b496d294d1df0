// Loads the core: the small one, or the full one for a game that needs it. Each is loaded once.

import type * as Module from "./core/samovar_js.js";
import { SamovarError } from "./error.js";

/** The wasm core. */
export type CoreModule = Pick<typeof Module, "Core" | "relayOfThisPage">;

/** How a core is loaded: with orders and worlds (`isFull`), or without. */
export type Loader = (isFull: boolean) => Promise<CoreModule>;

const loading = new Map<boolean, Promise<CoreModule>>();

async function fetched(isFull: boolean): Promise<CoreModule> {
  const core = isFull ? await import("./full/samovar_js.js") : await import("./core/samovar_js.js");
  await core.default();
  return core;
}

let loader: Loader = fetched;

/** Lets the core come from elsewhere. */
export function loadBy(other: Loader): void {
  loader = other;
}

/** Loads a core. */
export async function load(isFull: boolean): Promise<CoreModule> {
  if (typeof document === "undefined" && !("WorkerGlobalScope" in globalThis)) {
    throw new SamovarError("NoPage", "the program runs in no browser: only a page or a worker enters a room");
  }
  const known = loading.get(isFull) ?? loader(isFull);
  loading.set(isFull, known);
  try {
    return await known;
  } catch (why) {
    loading.delete(isFull);
    throw new SamovarError("NotLoaded", "the package's wasm could not be loaded", { cause: why });
  }
}
