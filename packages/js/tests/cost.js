// What the package costs a page: the time of a frame's share, and bytes a second.

import { object, room, vector } from "../samovar/index.js";

const Dot = object("dot", { at: vector(2, [0, 1], { precision: 0.001, smooth: true }) });
const game = room({ game: "cost", version: 1, objects: [Dot] });

/** Enters the room, and moves so many objects for some seconds. Returns figures as a text. */
export async function run(code, name, count, seconds) {
  const r = await game.joinOrCreate(code || undefined, { name, status: () => {} });
  window.room = r;
  if (count === 0) return r.code;
  const mine = Array.from({ length: count }, () => r.create(Dot, { at: [0, 0] }));
  const until = (is) =>
    new Promise((resolve) => {
      const stop = r.frame(() => is() && (stop(), resolve()));
    });
  await until(() => r.members.length > 1 && r.stats?.members[0]?.roundTrip !== undefined);
  const sent = () => r.stats.members.reduce((sum, { bytesOut }) => sum + bytesOut, 0);
  const [began, before] = [performance.now(), sent()];
  let [frames, spent] = [0, 0];
  const stop = r.frame((time) => {
    const start = performance.now();
    mine.forEach(
      (dot, index) => (dot.at = [0.5 + 0.4 * Math.cos(time + index), 0.5 + 0.4 * Math.sin(time + index)]),
    );
    r.all(Dot).forEach(({ at }) => void at);
    spent += performance.now() - start;
    frames++;
  });
  await until(() => performance.now() - began > 1_000 * seconds);
  stop();
  const bytes = ((sent() - before) * 1_000) / (performance.now() - began);
  return `${count} objects: ${bytes.toFixed(0)} bytes a second, ${(spent / frames).toFixed(2)} ms of each of ${frames} frames`;
}
