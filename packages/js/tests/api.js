// What the package promises to a program, tried in a page that a relay serves. The tests of the examples run it.

import {
  angle,
  choice,
  flag,
  int,
  object,
  range,
  room,
  SamovarError,
  text,
  vector,
  world,
} from "../samovar/index.js";

function check(is, what) {
  if (!is) throw new Error(what);
}

const same = (one, other, what) => {
  const [a, b] = [one, other].map((value) => JSON.stringify(value));
  check(a === b, `${what}: ${a} and not ${b}`);
};

/** Waits until something is so, looking once a frame. */
async function until(is, what) {
  const end = performance.now() + 20_000;
  while (!is()) {
    check(performance.now() < end, `waited in vain: ${what}`);
    await new Promise(requestAnimationFrame);
  }
}

/** The code of the error that a call throws, or that its promise rejects with. */
async function codeOf(call) {
  try {
    await call();
  } catch (why) {
    check(why instanceof Error && why.message.length > 10, `no sentence: ${why}`);
    return typeof why.code === "string" ? why.code : why.name;
  }
  return "none";
}

const Thing = object("thing", {
  at: vector(3, [-5, 5], { precision: 0.1 }),
  level: int([1, 9]),
  turn: angle(),
  share: range([0, 1], { precision: 0.1 }),
  pose: choice("sits", "stands"),
  isOpen: flag(),
  name: text(5),
});
const values = {
  at: [1, -2.26, 99],
  level: 0,
  turn: 3,
  share: 0.3,
  pose: "stands",
  isOpen: true,
  name: "Käthe",
};
const silent = { name: "Ann", status: () => {} };

const tests = {
  async valuesAreRoundedAndCut() {
    const r = await room({ game: "api", version: 1, objects: [Thing] }).create(silent);
    const thing = r.create(Thing, values);
    same(thing.at, [1, -2.3, 5], "a vector");
    same([thing.level, thing.share, thing.pose, thing.isOpen], [1, 0.3, "stands", true], "numbers and words");
    same(thing.name, "Käth", "a text is cut behind a whole character");
    check(Math.abs(thing.turn - 3) < 0.01, "an angle");
    thing.name = "tea";
    thing.at = [0, 0, 0];
    same(
      r.all(Thing).map(({ name, at, isMine }) => [name, at, isMine]),
      [["tea", [0, 0, 0], true]],
      "all",
    );
    r.destroy(thing);
    same(r.all(Thing), [], "none is left");
    same(await codeOf(() => (thing.name = "it")), "NoSuchObject", "a gone object");
    const wrong = {
      at: [[1, 2], [1, 2, 3, 4], "abc", undefined, [1, 2, NaN]],
      level: ["1", null],
      turn: [Infinity],
      pose: ["lies"],
      isOpen: [1],
      name: [7, undefined],
      foo: [1],
    };
    for (const [field, all] of Object.entries(wrong)) {
      for (const value of all) {
        const code = await codeOf(() => r.create(Thing, { ...values, [field]: value }));
        same(code, "BadValue", `${field} ${String(value)}`);
      }
    }
    same(await codeOf(() => (thing.foo = 1)), "TypeError", "a field that is none");
    await r.leave();
  },

  async roomIsUsableBetweenTwoFrames() {
    const draw = globalThis.requestAnimationFrame;
    // Frames are rare, so in one of the attempts the program joins between two of them.
    globalThis.requestAnimationFrame = (call) => setTimeout(() => draw(call), 80);
    try {
      for (let attempt = 0; attempt < 8; attempt++) {
        const r = await room({ game: "api", version: 1, objects: [Thing] }).create(silent);
        const thing = r.create(Thing, values);
        r.destroy(thing);
        same(await codeOf(() => (thing.level = 4)), "NoSuchObject", `a gone object, attempt ${attempt}`);
        await r.leave();
      }
    } finally {
      globalThis.requestAnimationFrame = draw;
    }
  },

  async asksAreCarriedOutAndTheirErrorsChangeNothing() {
    let room_;
    const codes = [];
    const r = await room({
      game: "api",
      version: 1,
      state: { sum: 0 },
      decide: {
        add(state, by = 1) {
          state.sum += by;
        },
        note(state, what) {
          state.what = what === null ? "null" : typeof what;
        },
        fail(state) {
          state.sum = -1;
          throw new Error("on purpose");
        },
        grow(state) {
          state.text = "x".repeat(5_000);
        },
        async call() {
          codes.push(await codeOf(() => room_.ask.add()));
        },
      },
    }).create(silent);
    room_ = r;
    const statuses = [];
    r.on("status", (status) => statuses.push(status));
    r.ask.fail();
    r.ask.grow();
    r.ask.call();
    r.ask.add(5);
    r.ask.add();
    r.ask.note(null);
    await until(() => r.state.sum === 6 && r.state.what, "the asks");
    same(r.state, { sum: 6, what: "null" }, "the state");
    r.ask.note();
    await until(() => r.state.what === "undefined", "no argument");
    same(await codeOf(() => (r.state.sum = 7)), "TypeError", "the state is frozen");
    same(codes, ["Deciding"], "a call of the room in `decide`");
    for (const words of ["4000 bytes", "an ask failed"]) {
      await until(() => statuses.some((status) => status.includes(words)), words);
    }
    same(await codeOf(() => r.ask.add("x".repeat(300))), "TooLarge", "a long ask");
    await r.leave();
    same(await codeOf(() => r.ask.add()), "NotJoined", "after leaving");
    same(r.finished instanceof Promise && (await codeOf(() => r.finished)), "none", "it ended well");
  },

  async errorsHaveCodesAndSentences() {
    const game = room({ game: "api", version: 1 });
    const codes = {
      BadAddress: () => game.create({ ...silent, relay: "http://localhost" }),
      BadCode: () => game.join("!", silent),
      BadName: () => game.create({ status() {} }),
      NoSuchGame: () => game.join("NOPE-9", silent),
      BadCapacity: () => game.create({ ...silent, capacity: 0 }),
      BadSchema: () => object("thing", {}),
      TooLarge: () => room({ game: "api", version: 1, state: "x".repeat(4_000) }).create(silent),
    };
    for (const [code, call] of Object.entries(codes)) same(await codeOf(call), code, code);
    for (const code of [1234, null]) same(await codeOf(() => game.join(code, silent)), "BadCode", code);
    const relay = new URL("ws://localhost/ws");
    same(await codeOf(() => game.create({ ...silent, relay })), "BadAddress", "an address that is no text");
    const twoRates = { a: range([0, 1], { precision: 0.1, rate: "a" }) };
    const bad = room({ game: "api", version: 1, objects: [object("bad", twoRates)] });
    same(await codeOf(() => bad.create(silent)), "BadSchema", "a field that is its own rate");
    const parts = [
      { game: "" },
      { version: 0.5 },
      { version: 2 ** 32 },
      { orders: ["rude"] },
      { spectators: -1 },
    ];
    for (const part of parts) {
      same(
        await codeOf(() => room({ game: "api", version: 1, ...part }).create(silent)),
        "BadSchema",
        "a game",
      );
    }
    for (const sharing of [{ orphan: "end" }, { access: "touch" }, { orphan: "nearest" }]) {
      same(await codeOf(() => object("thing", { a: flag() }, sharing)), "BadSchema", JSON.stringify(sharing));
    }
    const r = await game.create(silent);
    same(await codeOf(() => r.on("foo", () => {})), "BadEvent", "an event");
    same(await codeOf(() => r.putOut({ seat: 7 })), "NoSuchMember", "nobody is there");
    same(await codeOf(() => r.create(Thing, values)), "BadSchema", "objects that the game does not name");
    same(
      await codeOf(() => r.send("all", "tea", "total")),
      "NotInTheRules",
      "an order that it does not name",
    );
    same(await codeOf(() => r.send("all", "x".repeat(20_000))), "TooLarge", "a long message");
    same(await codeOf(() => r.send("all", undefined)), "BadMessage", "no message");
    same(await codeOf(() => r.send(r.me, "tea", "causal")), "NotInTheRules", "an order is for all");
    same([r.ask.point, r.ask.then], [undefined, undefined], "asks that the game does not name");
    same(await codeOf(() => r.world), "BadSchema", "no world");
    await r.leave();
  },

  async programsThatDifferRefuseEachOther() {
    const games = [
      { objects: [object("thing", { pose: choice("sits", "stands") })] },
      { objects: [object("thing", { pose: choice("sits", "lies") })] },
      { objects: [object("thing", { mood: choice("sits", "stands") })] },
      { objects: [object("thing", { pose: choice("sits", "stands") })], decide: { add() {} } },
      { objects: [object("thing", { pose: choice("sits", "stands") })], state: 1 },
      { objects: [object("thing", { pose: choice("sits", "stands") })], orders: ["total"] },
    ].map((part) => room({ game: "api", version: 1, ...part }));
    const r = await games[0].create(silent);
    for (const game of games.slice(1))
      same(await codeOf(() => game.join(r.code, silent)), "OtherGame", game.words);
    await r.leave();
  },

  async attemptCanBeGivenUp() {
    const stop = new AbortController();
    // Nothing listens there, so the attempt would go on.
    const entering = room({ game: "api", version: 1 }).create({
      ...silent,
      relay: "ws://127.0.0.1:9/ws",
      signal: stop.signal,
    });
    setTimeout(() => stop.abort(), 100);
    same(await codeOf(() => entering), "AbortError", "given up");
    const given = AbortSignal.abort();
    same(
      await codeOf(() => room({ game: "api", version: 1 }).create({ ...silent, signal: given })),
      "AbortError",
      "before",
    );
  },

  async worldOfOneIsSteppedAndIsGuarded() {
    let r;
    const codes = [];
    const counted = world({
      input: { by: int([-3, 3]), word: choice("rest", "go"), name: text(3) },
      stepsPerSecond: 100,
      begin: (seed) => ({ seed, sum: 0, words: [], names: [], steps: 0, odd: -0 }),
      step(world, { number, inputs, joined }) {
        if (number === 60) codes.push(codeOf(() => r.members));
        if (number === 30) throw new Error("on purpose: this step changes nothing");
        for (const { input } of inputs) {
          world.sum += input.by;
          world.words[0] = input.word;
          world.names[0] = input.name;
        }
        world.steps++;
        world.joined = [...(world.joined ?? []), ...joined];
      },
    });
    const began = performance.now();
    r = await room({ game: "api", version: 1, world: counted }).create(silent);
    await until(() => r.world.steps > 3, "steps");
    same(
      [r.world.sum, r.world.words, r.world.joined],
      [0, ["rest"], [r.me.seat]],
      "a player who does nothing",
    );
    r.input = { by: -2, word: "go", name: "tea" };
    await until(() => r.world.sum < -20, "an input");
    same([r.world.words, r.world.names, r.world.sum % 2], [["go"], ["tea"], 0], "the input");
    const { before, after, share } = r.between;
    check(before.steps + 1 === after.steps && share >= 0 && share <= 1, "two worlds to draw between");
    await until(() => r.world.steps > 100, "100 steps");
    const seconds = (performance.now() - began) / 1_000;
    check(seconds > 0.5, `100 steps a second took ${seconds} s`);
    same(await Promise.all(codes), ["Stepping"], "a call of the room in a step");
    same(r.worldDiffered, 0, "nobody differs");
    await r.leave();
  },

  async worldThatCannotBeIsAnError() {
    const play =
      (begin, more = {}) =>
      () =>
        room({ game: "api", version: 1, world: world({ input: {}, begin, step() {}, ...more }) }).create(
          silent,
        );
    const bad = () => {
      throw new Error("on purpose");
    };
    for (const begin of [bad, () => undefined, () => ({ big: 1n }), () => "x".repeat(70_000)]) {
      same(await codeOf(play(begin)), "BadWorld", String(begin));
    }
    for (const stepsPerSecond of [0, 0.5, 201, NaN]) {
      same(await codeOf(play(() => 0, { stepsPerSecond })), "BadSchema", `${stepsPerSecond} steps a second`);
    }
    same(await codeOf(play(() => 0, { input: { name: text(70) } })), "BadSchema", "a long input");
    let grows = 0;
    const r = await play(() => ({ text: "" }), {
      step(world) {
        world.text += "x".repeat(50_000);
        grows++;
      },
    })();
    await until(() => grows > 3, "steps");
    same(r.world.text.length, 50_000, "a step that makes too large a world changes nothing");
    await r.leave();
  },

  async statsAreThere() {
    const r = await room({ game: "api", version: 1 }).create(silent);
    same([r.stats.members, r.stats.hosts.length, r.stats.hosts[0].name], [[], 1, "Ann"], "stats");
    check(r.time > 0 && r.term > 0 && r.me.isHost && r.host.seat === r.me.seat, "the room");
    await r.leave();
  },

  async listHasTheRoomAsItsStateSays() {
    const game = room({
      game: "api",
      version: 1,
      state: { hasBegun: false },
      decide: {
        begin(state) {
          state.hasBegun = true;
        },
      },
      listing: ({ hasBegun }) => ({ title: "Tea", isOpen: !hasBegun }),
    });
    const r = await game.create({ ...silent, capacity: 3 });
    const listed = async () => (await (await fetch("/api/games")).json()).find(({ code }) => code === r.code);
    const is = async (isOpen) => {
      const entry = await listed();
      return entry?.title === "Tea" && entry.capacity === 3 && entry.open === isOpen;
    };
    for (const isOpen of [true, false]) {
      const end = performance.now() + 10_000;
      while (!(await is(isOpen))) {
        check(performance.now() < end, `the list: ${JSON.stringify(await listed())}`);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      if (isOpen) r.ask.begin();
    }
    await r.leave();
  },

  async objectsChangeHands() {
    const Ball = object("ball", { x: int([0, 9]) }, { access: "shared", orphan: "host" });
    const r = await room({ game: "api", version: 1, objects: [Ball, Thing] }).create(silent);
    const ball = r.create(Ball, { x: 1 });
    r.touch(ball);
    r.request(ball);
    r.give(ball, "host");
    same([ball.isMine, ball.x], [true, 1], "the host has it");
    same(await codeOf(() => r.give(ball, { seat: 5 })), "NoSuchMember", "to nobody");
    const mine = r.own(Thing, values);
    same(r.own(Thing, values).id, mine.id, "a player has one");
    same(await codeOf(() => r.touch(mine)), "NotAvailable", "what is a player's own");
    same(await codeOf(() => r.give(mine, "host")), "NotAvailable", "what waits for its player");
    await r.leave();
  },

  async privateRoomHasASecret() {
    const game = room({ game: "api", version: 1 });
    const r = await game.createPrivate(silent);
    check(/^[^.]+\.[^.]{8,}$/.test(r.code), r.code);
    same(await codeOf(() => game.join(r.code.split(".")[0], silent)), "OtherGame", "without the secret");
    await r.leave();
  },

  async workerPlaysOverTheRelayAlone() {
    const worker = new Worker("/tests/worker.js", { type: "module" });
    const told = {};
    worker.onmessage = ({ data }) => Object.assign(told, data);
    worker.onerror = ({ message }) => (told.failed = message);
    await until(() => told.code || told.failed, "the worker's room");
    same(told.failed, undefined, "the worker");
    check(
      told.statuses.some((status) => status.includes("relay alone")),
      `it says so: ${told.statuses}`,
    );
    const Count = object("count", { value: int([0, 1000]) });
    const r = await room({ game: "worker", version: 1, objects: [Count] }).join(told.code, {
      ...silent,
      name: "Bob",
    });
    await until(() => r.all(Count)[0]?.value > 10, "the worker's object");
    await until(() => r.stats?.members[0]?.route === "relay", "the route");
    same([r.host.name, r.members.length], ["Worker", 2], "the members");
    worker.postMessage("leave");
    await until(() => told.left && r.me.isHost, "the page hosts");
    worker.terminate();
    await r.leave();
  },

  async quickMatchFindsTheOpenRoom() {
    const game = room({ game: "match", version: 1 });
    const r = await game.create(silent);
    const other = await game.quickMatch({ ...silent, name: "Bob" });
    same([other.code, other.host.name, other.members.length], [r.code, "Ann", 2], "the same room");
    await other.leave();
    await r.leave();
  },

  async listenersMayChangeWhileTheyAreCalled() {
    const r = await room({
      game: "api",
      version: 1,
      state: 0,
      decide: { set: (_, value) => void value, add() {} },
    }).create(silent);
    let [heard, framed] = [0, 0];
    const listen = () => {
      const stop = r.on("status", () => {
        heard++;
        stop();
        listen();
      });
    };
    listen();
    const draw = () => {
      const stop = r.frame(() => {
        framed++;
        stop();
        draw();
      });
    };
    draw();
    // The second of two that leave at once finds the room over.
    const ends = [];
    r.frame(() => ends.length < 2 && framed > 3 && ends.push(r.leave(), r.leave()));
    await until(() => ends.length === 2, "frames come");
    await Promise.all(ends);
    same(await codeOf(() => r.leave()), "none", "a room that is over can be left");
    check(framed < 100 && heard < 100, `${framed} frames, ${heard} words`);
  },

  async handlesOfOneOwnObjectAreOne() {
    const r = await room({ game: "api", version: 1, objects: [Thing] }).create(silent);
    const [one, other] = [r.own(Thing, values), r.own(Thing, values)];
    other.level = 7;
    same([one.id, one.level, r.all(Thing).length], [other.id, 7, 1], "one object");
    r.destroy(one);
    const next = r.own(Thing, values);
    check(next.id !== one.id && next.isMine, "another object");
    same(await codeOf(() => (other.level = 3)), "NoSuchObject", "the old one is gone");
    await r.leave();
  },

  async twoRoomsInOnePage() {
    const game = room({ game: "api", version: 1, state: 0, decide: { set: (_, value) => void value } });
    const [one, other] = await Promise.all([game.create(silent), game.create({ ...silent, name: "Bob" })]);
    check(one.code !== other.code, "two codes");
    same([one.me.name, other.me.name], ["Ann", "Bob"], "two members");
    await one.leave();
    check(other.me.isHere, "the other goes on");
    await other.leave();
  },
};

/** Runs the tests, and returns a line for each that failed. */
export async function run() {
  const failures = [];
  for (const [name, test] of Object.entries(tests)) {
    const why = await test().catch((error) => `${name}: ${error.stack}`);
    if (why) failures.push(why);
  }
  check(SamovarError.prototype instanceof Error, "an error");
  return failures.join("\n");
}

const ORDERS = ["causal", "total", "stable", "time"];

/** Enters the room of a world, whose steps sum what the players say, and hears messages in each order. */
export async function play(code, name) {
  const sums = world({
    input: { by: int([0, 9]) },
    begin: () => ({ sums: {}, rest: 0 }),
    step(world, { inputs }) {
      world.rest = inputs.every(({ input }) => input.by === 0) ? world.rest + 1 : 0;
      for (const { seat, input } of inputs) world.sums[seat] = (world.sums[seat] ?? 0) + input.by;
    },
  });
  window.w = await room({ game: "sums", version: 1, world: sums, orders: ORDERS }).joinOrCreate(code, {
    name,
  });
  window.heard = {};
  window.w.on("message", (_, { order, text }) => (window.heard[order] ??= []).push(text));
  window.talk = () => {
    for (const order of ORDERS) {
      for (let number = 0; number < 3; number++) window.w.send("all", { order, text: name + number }, order);
    }
  };
  return window.w.code;
}
