// The package with its wasm inside, in a page of its own.

import { int, room, world } from "../samovar/inlined.js";

/** Enters a room with a world and one without at once, and returns what is wrong. */
export async function run() {
  const steps = world({
    input: { by: int([0, 1]) },
    begin: () => ({ steps: 0 }),
    step(world) {
      world.steps++;
    },
  });
  const silent = { name: "Ann", status: () => {} };
  const [plain, stepped] = await Promise.all([
    room({ game: "plain", version: 1, state: 0, decide: { add: () => {} } }).create(silent),
    room({ game: "steps", version: 1, world: steps }).create(silent),
  ]);
  const end = performance.now() + 20_000;
  while (stepped.world.steps < 10 && performance.now() < end) await new Promise(requestAnimationFrame);
  const fetched = performance.getEntriesByType("resource").map(({ name }) => name);
  const wrong = [
    stepped.world.steps >= 10 || "the world stands still",
    plain.me.isHost || "no room without a world",
    fetched.every((name) => !name.endsWith(".wasm")) || `a wasm file was fetched: ${fetched}`,
  ];
  await Promise.all([plain.leave(), stepped.leave()]);
  return wrong.filter((what) => what !== true).join("\n");
}
