import { room } from "samovar";
import { court, HEIGHT, PADDLE, WIDTH } from "./court";

const score = document.querySelector("#score")!;
const status = document.querySelector("#status")!;
const canvas = document.querySelector<HTMLCanvasElement>("#court")!;
const pen = canvas.getContext("2d")!;

/** Shows why the room cannot be entered, or why it is over. */
function tell(why: Error): void {
  score.textContent = "The game is over here.";
  status.textContent = why.message;
}

const name = sessionStorage.name ?? `Player ${Math.ceil(Math.random() * 99)}`;
sessionStorage.name = name;
const game = room({ game: "pong", version: 1, world: court });
const entering = game.joinOrCreate(location.hash.slice(1), {
  name,
  relay: import.meta.env.VITE_RELAY,
  status: (text) => (status.textContent = text),
});
entering.catch(tell);
const r = await entering;
location.hash = r.code;
r.finished.catch(tell);

const moves = { ArrowUp: "up", KeyW: "up", ArrowDown: "down", KeyS: "down" } as const;
let held = "";
addEventListener("keydown", ({ code }) => {
  if (code in moves) r.input = { move: moves[(held = code) as keyof typeof moves] };
});
addEventListener("keyup", ({ code }) => {
  if (code === held) r.input = { move: "rest" };
});
canvas.addEventListener("pointerdown", (event) => {
  const middle = canvas.getBoundingClientRect();
  r.input = { move: event.clientY < middle.top + middle.height / 2 ? "up" : "down" };
});
for (const end of ["pointerup", "pointercancel", "blur"]) {
  addEventListener(end, () => (r.input = { move: "rest" }));
}

r.frame(() => {
  const { before, after, share } = r.between;
  const mix = (from: number, to: number) => from + (to - from) * share;
  pen.clearRect(0, 0, WIDTH, HEIGHT);
  pen.fillStyle = getComputedStyle(canvas).color;
  for (const side of [0, 1] as const) {
    const y = mix(before.paddles[side], after.paddles[side]);
    pen.fillRect(side === 0 ? 8 : WIDTH - 16, y - PADDLE / 2, 8, PADDLE);
  }
  // A ball that was served is not drawn on its way to the middle.
  const jumps = Math.abs(after.ball.x - before.ball.x) > 50;
  const from = jumps ? after.ball : before.ball;
  pen.beginPath();
  pen.arc(mix(from.x, after.ball.x), mix(from.y, after.ball.y), 8, 0, 2 * Math.PI);
  pen.fill();
  const seat = after.seats.indexOf(r.me.seat);
  const part = ["you play left", "you play right"][seat] ?? "you watch";
  const waits = after.seats.length < 2 ? "; open this address in another tab" : "";
  score.textContent = `${after.score.join(" : ")}, ${part}${waits}`;
});
