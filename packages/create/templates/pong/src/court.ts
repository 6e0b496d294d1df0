import { choice, world } from "samovar";

export const WIDTH = 800;
export const HEIGHT = 500;
export const PADDLE = 90;

/** The court: plain data that all members step alike. */
export interface Court {
  /** The seats of the two players, left and right; those that came later wait here, too. */
  seats: number[];
  paddles: [number, number];
  ball: { x: number; y: number; right: number; down: number };
  score: [number, number];
  /** The state of the dice. A step must not call `Math.random`, which differs between members. */
  dice: number;
}

export const court = world({
  input: { move: choice("rest", "up", "down") },
  stepsPerSecond: 60,
  begin: (seed): Court => ({
    seats: [],
    paddles: [HEIGHT / 2, HEIGHT / 2],
    ball: served(),
    score: [0, 0],
    dice: seed,
  }),
  step(court, turn) {
    court.seats = court.seats.filter((seat) => !turn.left.includes(seat));
    for (const seat of turn.joined) court.seats.push(seat);
    for (const { seat, input } of turn.inputs) {
      const side = court.seats.indexOf(seat);
      if (side > 1 || side < 0) continue;
      const by = { rest: 0, up: -7, down: 7 }[input.move];
      const most = HEIGHT - PADDLE / 2;
      court.paddles[side as 0 | 1] = clamp(court.paddles[side]! + by, PADDLE / 2, most);
    }
    if (court.seats.length > 1) fly(court);
  },
});

function served(): Court["ball"] {
  return { x: WIDTH / 2, y: HEIGHT / 2, right: 5, down: 2 };
}

function fly(court: Court): void {
  const { ball } = court;
  ball.x += ball.right;
  ball.y += ball.down;
  if (ball.y < 8 || ball.y > HEIGHT - 8) {
    ball.y = clamp(ball.y, 8, HEIGHT - 8);
    ball.down = -ball.down;
  }
  for (const side of [0, 1] as const) {
    const comes = side === 0 ? ball.right < 0 && ball.x < 24 : ball.right > 0 && ball.x > WIDTH - 24;
    const offset = ball.y - court.paddles[side];
    if (comes && Math.abs(offset) < PADDLE / 2 + 8) {
      ball.right = -clamp(ball.right * 1.05, -12, 12);
      ball.down += offset / 20;
    }
  }
  if (ball.x < 0 || ball.x > WIDTH) {
    court.score[ball.x < 0 ? 1 : 0] += 1;
    const away = ball.x < 0 ? -1 : 1;
    court.ball = served();
    court.ball.right *= away;
    court.ball.down = (roll(court) % 7) - 3;
  }
}

function roll(court: Court): number {
  court.dice = (Math.imul(court.dice, 1_103_515_245) + 12_345) & 0x7fff_ffff;
  return court.dice >> 8;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
