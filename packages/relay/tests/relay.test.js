// The relay for development, started and stopped as programs do it. The tests of the examples run this with node.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { relayProgram, startRelay } from "../relay.js";
import samovar from "../vite.js";

const home = import.meta.dirname;
process.chdir(mkdtempSync(join(tmpdir(), "samovar-relay-")));

const answers = async (address) => (await fetch(`http://${address}/healthz`)).ok;

test("two relays of one folder run side by side, and stop", async () => {
  const [one, other] = [await startRelay(), await startRelay()];
  assert.notEqual(one.address, other.address);
  assert.equal(one.url, `ws://${one.address}/ws`);
  for (const relay of [one, other]) {
    assert.ok(await answers(relay.address));
    await relay.stop();
    await relay.ended;
    await assert.rejects(answers(relay.address));
  }
});

test("a relay that cannot start says why", async () => {
  await assert.rejects(startRelay({ args: ["--no-such-flag"] }), /no-such-flag/);
  await assert.rejects(startRelay({ listen: "nowhere" }), /does not start.*nowhere/s);
});

test("a program that awaits the stop of its relay goes on", async () => {
  const script = `
    import { startRelay } from ${JSON.stringify(join(home, "../relay.js"))};
    const relay = await startRelay();
    await relay.stop();
    console.log("stopped");`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
  let said = "";
  child.stdout.on("data", (text) => (said += text));
  const [code] = await once(child, "close");
  assert.deepEqual([code, said], [0, "stopped\n"]);
});

for (const signal of ["SIGHUP", "SIGTERM", "SIGINT", "SIGKILL"]) {
  test(`npx samovar-relay takes its relay with it at ${signal}`, async () => {
    const args = ["serve", "--listen", "127.0.0.1:0", "--data", mkdtempSync(join(tmpdir(), "samovar-data-"))];
    const child = spawn(process.execPath, [join(home, "../bin.js"), ...args]);
    let address;
    for await (const text of child.stdout.setEncoding("utf8")) {
      address = /listening on http:\/\/(\S+?)\/\n/.exec(text)?.[1];
      if (address) break;
    }
    assert.ok(await answers(address));
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    const end = Date.now() + 10_000;
    while (await answers(address).catch(() => false)) {
      assert.ok(Date.now() < end, "the relay goes on");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}

test("the plugin keeps its relay, replaces one that died, and goes on without one", async () => {
  const settings = () => samovar().config({}, { command: "serve" });
  const [first, second] = [await settings(), await settings()];
  const [[path, { target, rewrite }]] = Object.entries(first.server.proxy);
  assert.equal(second.server.proxy[path].target, target, "a restart of Vite keeps the relay");
  for (const is of ["/ws", "/game/ws", "/game/room/ws", "/ws?token"]) assert.match(is, new RegExp(path), is);
  for (const is of ["/wsutil.ts", "/src/news", "/ws/more"]) assert.doesNotMatch(is, new RegExp(path), is);
  assert.deepEqual([rewrite("/game/ws"), await answers(new URL(target).host)], ["/ws", true]);
  assert.deepEqual(Object.keys(await samovar().config({}, { command: "build" })), ["optimizeDeps"]);

  const relays = globalThis[Symbol.for("samovar.relays")];
  const [relay] = await Promise.all(relays.values());
  await relay.stop();
  const third = await settings();
  assert.equal(third.server.proxy[path].target, target, "a relay that died is started again, at its address");
  assert.ok(await answers(new URL(target).host));

  relays.clear();
  process.env.SAMOVAR_RELAY_BIN = "/nowhere";
  assert.deepEqual(Object.keys(await settings()), ["optimizeDeps"], "Vite serves without a relay");
  delete process.env.SAMOVAR_RELAY_BIN;
  assert.throws(relayProgram, /no program for .* SAMOVAR_RELAY_BIN/s);
});
