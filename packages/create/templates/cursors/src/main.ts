import { object, room, text, vector } from "samovar";

// An object of each player: all see it, and its owner changes it.
const Cursor = object("cursor", {
  place: vector(2, [0, 1], { precision: 0.001, smooth: true }),
  name: text(20),
});

const points = document.querySelector("#points")!;
const status = document.querySelector("#status")!;
const cursors = document.querySelector("#cursors")!;

const game = room({
  game: "cursors",
  version: 1,
  objects: [Cursor],
  // The state that the host keeps for all. An ask changes it exactly once, whoever hosts by then.
  state: { points: 0 },
  decide: {
    point(state, by: number) {
      // A member who cheats may ask for anything.
      if (Number.isInteger(by) && by >= 0 && by <= 10) state.points += by;
    },
  },
});

/** Shows why the room cannot be entered, or why it is over. */
function tell(why: Error): void {
  points.textContent = "The game is over here.";
  status.textContent = why.message;
}

const name = sessionStorage.name ?? `Player ${Math.ceil(Math.random() * 99)}`;
sessionStorage.name = name;
const entering = game.joinOrCreate(location.hash.slice(1), {
  name,
  relay: import.meta.env.VITE_RELAY,
  status: (text) => (status.textContent = text),
});
entering.catch(tell);
const r = await entering;
location.hash = r.code;
r.finished.catch(tell);

// After a reload this is the cursor that the player had.
const mine = r.own(Cursor, { place: [0.5, 0.5], name });
addEventListener("pointermove", ({ clientX, clientY }) => {
  mine.place = [clientX / innerWidth, clientY / innerHeight];
});
addEventListener("pointerdown", () => r.ask.point(1));

r.frame(() => {
  points.textContent = `${r.state.points} points, ${r.host?.name} hosts`;
  const marks = r.all(Cursor).map(({ place: [x, y], name, isMine }) => {
    const mark = document.createElement("div");
    mark.className = isMine ? "cursor mine" : "cursor";
    mark.textContent = name;
    mark.style.left = `${100 * x}%`;
    mark.style.top = `${100 * y}%`;
    return mark;
  });
  cursors.replaceChildren(...marks);
});
