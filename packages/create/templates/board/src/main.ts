import { COLUMNS, game } from "./board";

const at = <E extends HTMLElement>(id: string) => document.querySelector<E>(`#${id}`)!;
const [turn, status, board, said] = [at("turn"), at("status"), at("board"), at("said")];
const say = at<HTMLInputElement>("say");

/** Shows why the room cannot be entered, or why it is over. */
function tell(why: Error): void {
  turn.textContent = "The game is over here.";
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

function write(text: string): void {
  const line = document.createElement("li");
  line.textContent = text;
  said.append(line);
  line.scrollIntoView({ block: "nearest" });
}

const places = r.state.places.map((_, place) => {
  const button = document.createElement("button");
  button.ariaLabel = `column ${(place % COLUMNS) + 1}`;
  button.addEventListener("click", () => r.ask.drop(place % COLUMNS));
  return button;
});
board.append(...places);

function show(): void {
  const { places: players, players: seats, turn: next, winner } = r.state;
  places.forEach((button, place) => {
    button.className = ["", "one", "two"][players[place] ?? 0] ?? "";
  });
  const nameOf = (player: number) =>
    r.members.find(({ seat }) => seat === seats[player - 1])?.name ?? "somebody who is away";
  if (winner > 0) turn.textContent = `${nameOf(winner)} has won`;
  else if (seats.length < 2) turn.textContent = "Open this address in another tab";
  else
    turn.textContent =
      seats[next - 1] === r.me.seat ? "It is your turn" : `It is the turn of ${nameOf(next)}`;
}

r.on("state", show);
r.on("member", (member, change) => {
  if (change === "came") write(`${member.name} came`);
  if (change === "hosts") write(`${member.name} hosts now`);
  // A player who has left for good, and is not only away, gives the place up.
  if (change === "left") write(`${member.name} left`);
  if (change === "left" && r.me.isHost) r.ask.stand(member.seat);
  show();
});
r.on("message", (from, { text }) => write(`${from.name}: ${text}`));
at("again").addEventListener("click", () => r.ask.again());
at("chat").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!say.value) return;
  r.send("all", { text: say.value });
  write(`you: ${say.value}`);
  say.value = "";
});
r.ask.sit();
show();
