#!/usr/bin/env node
// `npx samovar-relay`: a relay for development. Arguments go to the relay's program; without any it serves at port 8080.

import { spawn } from "node:child_process";
import { dataDirectory, relayProgram } from "./relay.js";

try {
  const given = process.argv.slice(2);
  const args = given.length > 0 ? given : ["serve", "--data", dataDirectory()];
  const child = spawn(relayProgram(), args, { stdio: "inherit" });
  // The relay gets the terminal's signals by itself, and others from here.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
  child.once("error", ({ message }) => fail(message));
  child.once("close", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
} catch ({ message }) {
  fail(message);
}

function fail(message) {
  console.error(`samovar-relay: ${message}`);
  process.exit(1);
}
