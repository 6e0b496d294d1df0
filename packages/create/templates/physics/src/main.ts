import RAPIER from "@dimforge/rapier2d-compat";
import { angle, object, range, room, vector } from "samovar";
import { BOX, HAND, HEIGHT, Table, WIDTH } from "./table";

const place = { precision: 0.1 };

// Each player's hand, which pushes boxes on every member's table.
const Hand = object("hand", { place: vector(2, [-100, 900], { ...place, smooth: true }) });

// The host decides where boxes are. If it goes, the next host has them.
const Box = object(
  "box",
  {
    place: vector(2, [-100, 900], place),
    turn: angle(),
    speed: vector(2, [-2000, 2000], { precision: 1 }),
    spin: range([-50, 50], { precision: 0.1 }),
  },
  { orphan: "host" },
);

const title = document.querySelector("#title")!;
const status = document.querySelector("#status")!;
const canvas = document.querySelector<HTMLCanvasElement>("#table")!;
const pen = canvas.getContext("2d")!;

/** Shows why the room cannot be entered, or why it is over. */
function tell(why: Error): void {
  title.textContent = "The game is over here.";
  status.textContent = why.message;
}

await RAPIER.init();
const table = new Table();
const name = sessionStorage.name ?? `Player ${Math.ceil(Math.random() * 99)}`;
sessionStorage.name = name;
const entering = room({ game: "boxes", version: 1, objects: [Hand, Box] }).joinOrCreate(
  location.hash.slice(1),
  { name, relay: import.meta.env.VITE_RELAY, status: (text) => (status.textContent = text) },
);
entering.catch(tell);
const r = await entering;
location.hash = r.code;
r.finished.catch(tell);

const mine = r.own(Hand, { place: [WIDTH / 2, HEIGHT - 40] });
canvas.addEventListener("pointermove", (event) => {
  const { left, top, width } = canvas.getBoundingClientRect();
  const scale = WIDTH / width;
  mine.place = [(event.clientX - left) * scale, (event.clientY - top) * scale];
});

r.frame((time) => {
  const [boxes, hands] = [r.all(Box), r.all(Hand)];
  // The first host lays the boxes; a member that has just come does not see all objects at once.
  if (r.me.isHost && time > 1 && boxes.length === 0) {
    for (let box = 0; box < 8; box++) {
      const at = [250 + 100 * (box % 4), 150 + 120 * Math.floor(box / 4)] as const;
      r.create(Box, { place: at, turn: 0, speed: [0, 0], spin: 0 });
    }
  }
  // All predict: each steps its own table. The host's counts, and the others are led to it.
  for (const box of boxes) if (!box.isMine || !table.box(box.id)) table.lead(box.id, box);
  for (const { id, place } of hands) table.hand(id, place);
  table.keep(new Set([...boxes, ...hands].map(({ id }) => id)));
  table.step(time);
  for (const box of boxes) {
    const now = table.box(box.id);
    if (box.isMine && now) Object.assign(box, now);
  }
  draw(
    boxes.map(({ id }) => id),
    hands,
  );
});

function draw(boxes: string[], hands: { place: readonly [number, number]; isMine: boolean }[]): void {
  pen.clearRect(0, 0, WIDTH, HEIGHT);
  for (const id of boxes) {
    const box = table.box(id);
    if (!box) continue;
    pen.save();
    pen.translate(...(box.place as [number, number]));
    pen.rotate(box.turn);
    pen.fillStyle = "#c96";
    pen.fillRect(-BOX / 2, -BOX / 2, BOX, BOX);
    pen.restore();
  }
  for (const { place, isMine } of hands) {
    pen.beginPath();
    pen.arc(place[0], place[1], HAND, 0, 2 * Math.PI);
    pen.fillStyle = isMine ? "#396" : "#777";
    pen.fill();
  }
  title.textContent = `${boxes.length} boxes, ${r.host?.name} hosts`;
}
