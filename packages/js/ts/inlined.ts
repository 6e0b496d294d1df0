// The same package with its wasm inside: for programs whose bundler or server cannot deliver a wasm file.

import init, * as full from "./full/samovar_js.js";
import { loadBy } from "./loader.js";
import { wasm } from "./full/wasm.js";

let loading: Promise<typeof full> | undefined;

async function unpacked(): Promise<typeof full> {
  const packed = new Blob([Uint8Array.from(atob(wasm), (letter) => letter.charCodeAt(0))]);
  const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  await init({ module_or_path: await new Response(stream).arrayBuffer() });
  return full;
}

loadBy(() => (loading ??= unpacked()));

export * from "./index.js";
