// Finds the relay's program for this machine, and starts it.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

/** The path of the relay's program: `SAMOVAR_RELAY_BIN`, or that of the package for this machine. */
export function relayProgram() {
  if (process.env.SAMOVAR_RELAY_BIN) return process.env.SAMOVAR_RELAY_BIN;
  const machine = `${process.platform}-${process.arch}`;
  const ending = process.platform === "win32" ? ".exe" : "";
  try {
    return createRequire(import.meta.url).resolve(`samovar-relay-${machine}/samovar-relay${ending}`);
  } catch (cause) {
    const text =
      `samovar-relay has no program for ${machine} here. Install the package samovar-relay-${machine} if there is one, ` +
      "or build the relay (`cargo build --release -p samovar-relay`) and name it in SAMOVAR_RELAY_BIN.";
    throw new Error(text, { cause });
  }
}

/** The directory for the key of a relay that is started in this folder. */
export function dataDirectory(name = "relay") {
  const directory = resolve("node_modules", ".samovar", name);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Starts a relay, which stops when this process ends. Resolves when it listens. */
export async function startRelay({ listen = "127.0.0.1:0", data, args = [] } = {}) {
  if (data !== undefined) return start(listen, data, args);
  // A directory belongs to one relay at a time, so a second relay of the same folder takes another.
  for (let number = 1; ; number++) {
    try {
      return await start(listen, dataDirectory(number === 1 ? "relay" : `relay-${number}`), args);
    } catch (error) {
      if (number === 20 || !/another relay runs/.test(error.message)) throw error;
    }
  }
}

async function start(listen, data, args) {
  const all = ["serve", "--listen", listen, "--data", data, "--until-input-ends", ...args];
  const child = spawn(relayProgram(), all, { stdio: ["pipe", "pipe", "pipe"] });
  // A relay that stops first closes the pipe.
  child.stdin.on("error", () => {});
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-4_000)));
  const ended = new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) => resolve(`it ended with status ${code}`));
  });
  const address = new Promise((resolve) => {
    let lines = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      lines += text;
      const found = /listening on http:\/\/(\S+?)\/\n/.exec(lines);
      if (found) resolve({ address: found[1] });
    });
  });
  const first = await Promise.race([address, ended]);
  if (typeof first === "string") throw new Error(`the relay does not start: ${first}\n${said}`);
  // A program that has nothing else to do ends, and its relay with it.
  for (const part of [child, child.stdout, child.stderr, child.stdin]) part.unref();
  const stop = async () => {
    child.ref();
    child.stdin.end();
    await ended;
  };
  return { ...first, url: `ws://${first.address}/ws`, ended: ended.then(() => undefined), stop };
}
