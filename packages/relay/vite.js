// A plugin for Vite: starts a relay, and lets the page reach it at its own address.

import { startRelay } from "./relay.js";

/** The relays of this process. A restart of Vite's server keeps its relay, so rooms go on. */
const relays = (globalThis[Symbol.for("samovar.relays")] ??= new Map());

/** The plugin. */
export default function samovar({ args = [] } = {}) {
  return {
    name: "samovar",
    async config(_, { command }) {
      // Vite's bundle of a package would lose the wasm file that is beside it.
      const settings = { optimizeDeps: { exclude: ["samovar"] } };
      if (command !== "serve") return settings;
      try {
        const { address } = await running(args);
        // The page looks for its relay beside itself, in whatever folder that is.
        const proxy = {
          "^/(.*/)?ws(\\?|$)": { target: `http://${address}`, ws: true, rewrite: () => "/ws" },
        };
        return { ...settings, server: { proxy }, preview: { proxy } };
      } catch ({ message }) {
        console.warn(`samovar: the page has no relay of this server: ${message}`);
        return settings;
      }
    },
  };
}

/** Starts a relay that died again, at the address that the page knows. */
function replace(key, listen, args) {
  const relay = startRelay({ listen, args });
  relays.set(key, relay);
  relay.then(
    ({ ended }) => ended.then(() => replace(key, listen, args)),
    ({ message }) => {
      relays.delete(key);
      console.warn(`samovar: the relay is gone: ${message}`);
    },
  );
}

/** The relay of this folder. */
function running(args) {
  const key = JSON.stringify([process.cwd(), args]);
  let relay = relays.get(key);
  if (!relay) {
    relay = startRelay({ args });
    relays.set(key, relay);
    relay.then(
      ({ address, ended }) => ended.then(() => replace(key, address, args)),
      () => relays.delete(key),
    );
  }
  return relay;
}
