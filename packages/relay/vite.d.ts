import type { Plugin } from "vite";

/**
 * Starts a relay with Vite's server and lets the page reach it at `/ws`, so that a room needs no address. `args` are
 * further arguments of `samovar-relay serve`.
 */
export default function samovar(options?: { args?: readonly string[] | undefined }): Plugin;
