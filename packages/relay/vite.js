// A plugin for Vite: starts a relay, and lets the page reach it at its own address.

import { dataDirectory, startRelay } from "./relay.js";

/** The relays of this process. A restart of Vite's server keeps its relay, so rooms go on. */
const relays = (globalThis[Symbol.for("samovar.relays")] ??= new Map());

/** The plugin. */
export default function samovar({ args = [] } = {}) {
  return {
    name: "samovar",
    async config({ base = "/" }, { command }) {
      // Vite's bundle of a package would lose the wasm file that is beside it.
      const settings = { optimizeDeps: { exclude: ["samovar"] } };
      if (command !== "serve") return settings;
      const key = JSON.stringify([process.cwd(), args]);
      if (!relays.has(key)) relays.set(key, start(args));
      const { address } = await relays.get(key).catch((error) => {
        relays.delete(key);
        throw error;
      });
      // The page looks for its relay beside itself.
      const path = `${base.startsWith("/") ? base : "/"}ws`;
      const proxy = { [path]: { target: `http://${address}`, ws: true, rewrite: () => "/ws" } };
      return { ...settings, server: { proxy }, preview: { proxy } };
    },
  };
}

/** A directory belongs to one relay at a time, so a second server of the same folder takes another. */
async function start(args) {
  for (let number = 1; ; number++) {
    const data = dataDirectory(number === 1 ? "relay" : `relay-${number}`);
    try {
      return await startRelay({ data, args });
    } catch (error) {
      if (number === 9 || !/another relay runs/.test(error.message)) throw error;
    }
  }
}
