#!/usr/bin/env node
// `npx samovar-relay`: a relay for development. Arguments go to the relay's program; without any it serves at port 8080.

import { spawn } from "node:child_process";
import { dataDirectory, relayProgram } from "./relay.js";

function fail(message) {
  console.error(`samovar-relay: ${message}`);
  process.exit(1);
}

try {
  const given = process.argv.slice(2);
  const args = given.length > 0 ? given : ["serve", "--data", dataDirectory()];
  // The relay ends with this program, however this program ends: its input is a pipe that only this program holds.
  if (args[0] === "serve") args.push("--until-input-ends");
  const child = spawn(relayProgram(), args, { stdio: ["pipe", "inherit", "inherit"] });
  child.stdin.on("error", () => {});
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.stdin.end());
  child.once("error", ({ message }) => fail(message));
  child.once("close", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
} catch ({ message }) {
  fail(message);
}
