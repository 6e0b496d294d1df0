// What TypeScript says to programs that are right, and to those that are wrong.

import { int, room, SamovarError, world } from "samovar";
const g = room({ game: "a", version: 1 });
const r = await g.create({ name: "A", signal: undefined });
// @ts-expect-error no asks
r.ask.anything();
const h = await room({
  game: "a",
  version: 1,
  state: { n: 0 },
  decide: {
    a(s) {
      s.n++;
    },
    b(s, by: number) {
      s.n += by;
    },
    c(s, by = 1) {
      s.n += by;
    },
    d(s, by: string | null) {
      void by;
    },
  },
}).create({ name: "A" });
h.ask.a();
h.ask.b(1);
h.ask.c();
h.ask.c(2);
h.ask.d(null);
// @ts-expect-error
h.ask.b();
// @ts-expect-error
h.ask.a(1);
// @ts-expect-error
h.ask.b("x");
// @ts-expect-error read only
h.state.n = 1;
const deep = await room({ game: "a", version: 1, state: { list: [1] } }).create({ name: "A" });
// @ts-expect-error read only
deep.state.list.push(2);
const w = await room({
  game: "w",
  version: 1,
  world: world({
    input: { by: int([0, 3]) },
    begin: () => ({ n: 0 }),
    step(w, t) {
      w.n += t.inputs[0]?.input.by ?? 0;
    },
  }),
}).create({ name: "A" });
w.input = { by: 1 };
const by: number | undefined = w.input?.by;
void by;
// @ts-expect-error
w.input = { by: "x" };
const isFull = (why: unknown) => why instanceof SamovarError && why.code === "Full";
// @ts-expect-error no such code
const isFul = (why: unknown) => why instanceof SamovarError && why.code === "Ful";
void [isFull, isFul];
export {};
