import { object, room, vector } from "samovar";

const Dot = object("dot", { at: vector(2, [0, 9999], { precision: 1 }) });
const game = room({ game: "dots", version: 1, objects: [Dot] });
const r = await game.joinOrCreate(location.hash.slice(1), { name: "Ann" });
location.hash = r.code;

const mine = r.own(Dot, { at: [0, 0] });
onpointermove = (event) => (mine.at = [event.x, event.y]);
r.frame(() => {
  const dots = r.all(Dot).map(({ at }) => `(${at})`);
  document.body.textContent = dots.join(" ");
});
