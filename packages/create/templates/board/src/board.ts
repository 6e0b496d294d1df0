import { room } from "samovar";
import type { Member } from "samovar";

export const COLUMNS = 7;
export const ROWS = 6;

/** The state that the host keeps for all. */
export interface Board {
  /** The seats of the two players. */
  players: number[];
  /** Each place by rows from above: 0 if it is empty, or else the player, 1 or 2. */
  places: number[];
  /** The player whose turn it is, 1 or 2. */
  turn: number;
  /** The player who has won; 0 before. */
  winner: number;
}

const empty = (): number[] => new Array<number>(COLUMNS * ROWS).fill(0);

/** The messages of the chat. */
export interface Chat {
  text: string;
}

export const game = room({
  game: "four in a row",
  version: 1,
  state: { players: [], places: empty(), turn: 1, winner: 0 } as Board,
  messages: {} as Chat,
  // The host carries out each ask exactly once, whichever member that is. A move that the rules forbid changes nothing.
  decide: {
    sit(board, _: undefined, from: Member) {
      if (board.players.length < 2 && !board.players.includes(from.seat)) board.players.push(from.seat);
    },
    drop(board, column: number, from: Member) {
      const player = board.players.indexOf(from.seat) + 1;
      if (board.winner > 0 || player !== board.turn || !Number.isInteger(column)) return;
      if (column < 0 || column >= COLUMNS) return;
      for (let row = ROWS - 1; row >= 0; row--) {
        const place = row * COLUMNS + column;
        if (board.places[place] !== 0) continue;
        board.places[place] = player;
        if (hasFour(board.places, place)) board.winner = player;
        board.turn = 3 - player;
        return;
      }
    },
    again(board) {
      if (board.winner > 0 || board.places.every((player) => player > 0)) {
        board.places = empty();
        board.winner = 0;
      }
    },
    stand(board, seat: number, from: Member) {
      if (from.isHost) board.players = board.players.filter((player) => player !== seat);
    },
  },
});

function hasFour(places: number[], last: number): boolean {
  const player = places[last];
  const is = (row: number, column: number) =>
    row >= 0 && row < ROWS && column >= 0 && column < COLUMNS && places[row * COLUMNS + column] === player;
  const [row, column] = [Math.floor(last / COLUMNS), last % COLUMNS];
  return [
    [0, 1],
    [1, 0],
    [1, 1],
    [1, -1],
  ].some(([down, right]) => {
    let count = 1;
    for (const way of [1, -1]) {
      for (let at = 1; is(row + way * at * down!, column + way * at * right!); at++) count++;
    }
    return count >= 4;
  });
}
