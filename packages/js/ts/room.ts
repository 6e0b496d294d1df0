// A room, and how a program enters it.

import type { Core } from "./core/samovar_js.js";
import { SamovarError } from "./error.js";
import type { ErrorCode } from "./error.js";
import { load } from "./loader.js";
import { planOf, read, write } from "./schema.js";
import type { Fields, ObjectType, Values } from "./schema.js";
import type { Stats } from "./stats.js";
import { Copy } from "./world.js";
import type { World } from "./world.js";

/** A member of the room. Its seat stays the same when its page is loaded again. */
export interface Member {
  readonly seat: number;
  readonly name: string;
  readonly isMe: boolean;
  readonly isHost: boolean;
  /** Whether it is connected. If it is away, its seat waits for it. */
  readonly isHere: boolean;
  readonly watches: boolean;
}

/** What happened to a member. */
export type Change = "came" | "back" | "away" | "left" | "putOut" | "hosts";

/** The order in which members hear messages: `sender`, the order of each sender; `none`, the message may be lost. */
export type Order = "sender" | "none" | "causal" | "total" | "stable" | "time";

/**
 * The things that members ask of the host: each changes the state, and nothing else. The argument's type is a promise that
 * a member who cheats breaks: check what must be true.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Decide<S> = Record<string, (state: S, argument: any, from: Member) => void>;

/** What all members of a game have in common. Programs that differ in it refuse each other. */
export interface Game<S, D extends Decide<S>, M, W, I extends Fields> {
  /** The game's name. */
  game: string;
  /** The version of its rules. */
  version: number;
  /** The types of its objects. */
  objects?: readonly ObjectType[] | undefined;
  /** The state that the host keeps for all, at the beginning: at most 4,000 bytes as JSON. */
  state?: S | undefined;
  /** What members may ask of the host. The host carries out each ask exactly once, whichever member that is. */
  decide?: D | undefined;
  /** A world that all members step alike. */
  world?: World<W, I> | undefined;
  /** The orders of messages that it uses besides `sender` and `none`. */
  orders?: readonly Exclude<Order, "sender" | "none">[] | undefined;
  /** The most spectators. */
  spectators?: number | undefined;
  /** The room's entry in the relay's list, by its state: a title, and whether newcomers are let in. */
  listing?: ((state: S) => { title?: string; isOpen?: boolean }) | undefined;
  /** For types alone: the messages of the game. */
  messages?: M | undefined;
}

/** How this program enters. */
export interface Way {
  /** This player's name. */
  name: string;
  /** The relay's address, `ws://…/ws` or `wss://…/ws`; unless set, that of the relay that serves this page. */
  relay?: string | undefined;
  /** Whether this program only watches. */
  watch?: boolean | undefined;
  /** Whether packets take the relay alone, so that other members do not learn this player's network address. */
  relayed?: boolean | undefined;
  /**
   * The token of the game's own server that lets this player in, for a relay that asks for one: a JSON Web Token. The
   * name and the role in it count before those given here. It makes one member.
   */
  token?: string | undefined;
  /** Hears how the connection stands, from the first moment on. The console hears it unless this is set. */
  status?: ((text: string) => void) | undefined;
  /** Ends the attempt to enter. Once this program is a member, `leave` does. */
  signal?: AbortSignal | undefined;
}

/** An object of the room. Its fields are its values; assigning to one of one's own changes it for all. */
export type Shared<F extends Fields> = Values<F> & {
  readonly id: string;
  readonly owner: Member;
  readonly isMine: boolean;
};

/** How this program enters a room that it may make. The last three count if it does. */
export interface Making extends Way {
  /** The most players, 1 to 32; 8 unless set. */
  capacity?: number | undefined;
  /** Whether the room ends when its host is lost. */
  endsWithHost?: boolean | undefined;
  /** Whether each part of a network that falls apart plays on under a host of its own. */
  forks?: boolean | undefined;
}

/** The events of a room, for `on`. */
export interface Events<M> {
  /** The connection stands otherwise: a sentence for the player. */
  status: (text: string) => void;
  /** Something happened to a member. */
  member: (member: Member, change: Change) => void;
  /** A message came. Its type is a promise that a member who cheats breaks. */
  message: (from: Member, message: M) => void;
  /** The state changed. */
  state: () => void;
  /** This program became a member again, after the others had gone on without it. */
  rejoined: () => void;
}

/** An object as the core tells of it. */
type Seen = [
  id: string,
  owner: Member,
  isMine: boolean,
  seat: number,
  numbers: Int32Array,
  texts: Uint8Array[],
];
/** Data that nobody may change. */
export type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

/** The asks of a game, each a function of its argument. */
export type Asks<D> = string extends keyof D
  ? Record<never, never>
  : { [K in keyof D]: D[K] extends (state: never, ...rest: infer R) => unknown ? AskOf<R> : never };

/** The function of an ask, by what `decide` gets behind the state. */
export type AskOf<R extends unknown[]> = R extends []
  ? () => void
  : R extends [infer A, ...unknown[]]
    ? undefined extends A
      ? (argument?: A) => void
      : (argument: A) => void
    : R extends [(infer A)?, ...unknown[]]
      ? (argument?: A) => void
      : () => void;

type Written = ReturnType<typeof write>;

/** The name of an object, and what this program wrote into it last. */
interface Name {
  id: string;
  written?: Written;
}

/** Describes a game. The result enters rooms of it. */
export function room<
  S = undefined,
  D extends Decide<S> = Decide<S>,
  M = unknown,
  W = undefined,
  I extends Fields = Record<never, never>,
>(game: Game<S, D, M, W, I>) {
  const enter = (way: string, code: string, options: Making) => Room.enter(way, code, options, game);
  return {
    /** The words that programs in other languages must agree on, besides the numbers and texts of the objects. */
    words: wordsOf(game),
    /** Enters the room with this code; if there is none, it is made. Without a code, the relay draws one. */
    joinOrCreate: (code: string | undefined, options: Making) =>
      enter(code ? "joinOrCreate" : "create", code ?? "", options),
    /** Enters the room with this code. */
    join: (code: string, options: Way) => enter("join", code, options),
    /** Makes a room. */
    create: (options: Making, code = "") => enter("create", code, options),
    /** Makes a room that is in no list. Its code has a secret. */
    createPrivate: (options: Making) => enter("createPrivate", "", options),
    /** Enters the fullest open room of this game, or makes one. */
    quickMatch: (options: Making) => enter("quickMatch", "", options),
  };
}

/** The words of a game: of its types and their choices, its asks, its state at the beginning, its world. */
function wordsOf<S, D extends Decide<S>, M, W, I extends Fields>(game: Game<S, D, M, W, I>): string {
  const objects = (game.objects ?? []).map(({ name, fields }) => {
    const choices = Object.entries(fields).map(([field, { coded }]) => [field, coded.words] as const);
    return [name, Object.fromEntries(choices.filter(([, words]) => words))];
  });
  const input = Object.entries(game.world?.input ?? {}).map(([field, { coded }]) => [field, coded]);
  const steps = game.world ? (game.world.stepsPerSecond ?? 30) : 0;
  return JSON.stringify([objects, Object.keys(game.decide ?? {}), game.state ?? null, input, steps]);
}

const ORDERS: readonly string[] = ["sender", "none", "causal", "total", "stable", "time"];
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyGame = Game<any, any, any, any, any>;

/** Calls in the next frame of the browser. Some browsers give no frames to a worker. */
function nextFrame(call: () => void): void {
  if (typeof requestAnimationFrame === "function") requestAnimationFrame(call);
  else setTimeout(call, 16);
}

/** If no frame came for so many milliseconds, the browser withholds frames. */
const WITHHELD_AFTER = 100;

const NO_ONE: Member = { seat: 0, name: "", isMe: false, isHost: false, isHere: false, watches: false };

/** A room, seen by one of its members. */
export class Room<S, D extends Decide<S>, M, W = undefined, I extends Fields = Record<never, never>> {
  /** Asks of the host, as the game's `decide` names them: `room.ask.point(1)`. */
  readonly ask: Asks<D>;
  /** Settles when the room is over for this program: by `leave`, or with the reason as an error. */
  readonly finished: Promise<void>;

  #core!: Core;
  #ears: { [K in keyof Events<M>]: Set<Events<M>[K]> } = {
    status: new Set(),
    member: new Set(),
    message: new Set(),
    state: new Set(),
    rejoined: new Set(),
  };
  #news: (() => void)[] = [];
  #frames = new Set<(time: number) => void>();
  #joined?: () => void;
  #copy?: Copy<W, I>;
  /** The object of each kind of which this player has one. */
  #owned = new Map<number, { name: Name; again: () => void }>();
  #isDeciding = false;
  #isBusy = false;
  #isOver = false;
  #framed = 0;
  #isOpen = false;
  #state?: { text: string; value: Frozen<S> };
  /** The state at the beginning. */
  readonly #begin: Frozen<S>;
  #time = 0;
  #code = "";
  #term = 0;
  #told = "";
  /** The state by which the relay's list was last told of the room. */
  #listed?: string;
  #status: (text: string) => void = (text) => console.info(`samovar: ${text}`);
  #over!: { resolve: () => void; reject: (error: unknown) => void };

  private constructor(private readonly game: Game<S, D, M, W, I>) {
    this.ask = new Proxy({} as Asks<D>, {
      get: (_, name) => {
        if (!Object.hasOwn(this.game.decide ?? {}, name)) return undefined;
        return (argument?: unknown) => {
          const ask = JSON.stringify(argument === undefined ? [name] : [name, argument]);
          this.#call((core) => core.ask(fits("an ask", ask, ASK_MAX)));
        };
      },
    });
    this.#begin = frozen(textOfState(game.state)) as Frozen<S>;
    this.finished = new Promise((resolve, reject) => (this.#over = { resolve, reject }));
    // A program that does not wait for the end is not told of an error twice.
    this.finished.catch(() => undefined);
  }

  /** @internal */
  static async enter<S, D extends Decide<S>, M, W, I extends Fields>(
    way: string,
    code: string,
    options: Making,
    game: Game<S, D, M, W, I>,
  ): Promise<Room<S, D, M, W, I>> {
    options.signal?.throwIfAborted();
    check(game, code, options);
    const made = new Room<S, D, M, W, I>(game);
    await made.#enter(way, code, options);
    return made;
  }

  async #enter(way: string, code: string, options: Making): Promise<void> {
    const { name, relay, watch = false, relayed = false, token, signal } = options;
    const { capacity = 8, endsWithHost = false, forks = false } = options;
    const { game, version, objects = [], orders = [], spectators = 0, world } = this.game;
    const core = await load(orders.length > 0 || world !== undefined);
    signal?.throwIfAborted();
    if (options.status) this.#status = options.status;
    const copy = world && (this.#copy = new Copy(world, (why) => this.#end() && this.#over.reject(why)));
    const steps = copy?.stepsPerSecond ?? 0;
    const plan = [
      game,
      version,
      objects.map(planOf),
      orders,
      spectators,
      capacity,
      watch,
      wordsOf(this.game),
      copy?.coding.bytes ?? 0,
      steps,
      endsWithHost,
      forks,
      relayed,
      token,
    ];
    let wasIn = false;
    const hooks = {
      status: (text: string) =>
        this.#note(() => {
          this.#status(text);
          this.#tell("status", text);
        }),
      message: (seat: number, text: string) => {
        const message = parse(text);
        // A member that breaks the rules may send anything.
        if (message !== undefined) this.#note(() => this.#tell("message", this.#member(seat), message as M));
      },
      member: (member: Member, change: Change) => this.#note(() => this.#tell("member", member, change)),
      joined: () =>
        this.#note(() => {
          if (wasIn) {
            for (const { again } of this.#owned.values()) guarded(again);
            this.#tell("rejoined");
          }
          wasIn = true;
          // The core has forgotten what the relay's list shall say.
          this.#listed = undefined;
          this.#joined?.();
          this.#joined = undefined;
          // The program that waits to be in has its listeners by then.
          setTimeout(() => {
            this.#isOpen = true;
            this.#hear();
          });
        }),
      decide: (state: string, member: Member, ask: string) => this.#decide(state, member, ask),
      ...copy?.hooks,
    };
    const entered = new Promise<void>((resolve) => (this.#joined = resolve));
    const url = relay ?? core.relayOfThisPage();
    try {
      this.#core = new core.Core(way, url, code, name, plan, hooks as never, () => this.#wake());
    } catch (why) {
      this.#isOver = true;
      throw errorOf(why);
    }
    const abort = () => {
      if (this.#end()) this.#over.reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort);
    const loop = () => {
      if (this.#isOver) return;
      nextFrame(loop);
      this.#framed = performance.now();
      if (this.#step()) each(this.#frames, (frame) => frame(this.time));
    };
    nextFrame(loop);
    await Promise.race([entered, this.finished]).finally(() => signal?.removeEventListener("abort", abort));
  }

  /** Hears of something: `status`, `member`, `message`, `state`, `rejoined`. Returns a function that ends this. */
  on<K extends keyof Events<M>>(event: K, listener: Events<M>[K]): () => void {
    if (!Object.hasOwn(this.#ears, event)) throw new SamovarError("BadEvent", `there is no event “${event}”`);
    this.#ears[event].add(listener);
    return () => this.#ears[event].delete(listener);
  }

  /** Calls a function once a frame of the browser, with the session's time in seconds. Returns a function that ends this. */
  frame(call: (time: number) => void): () => void {
    this.#frames.add(call);
    return () => this.#frames.delete(call);
  }

  /** The session's time in seconds: nearly the same at all members, and it goes on under each new host. */
  get time(): number {
    return (this.#time = this.#call((core) => core.time()) ?? this.#time);
  }

  /** The code by which others join. */
  get code(): string {
    return (this.#code = this.#call((core) => core.code()) ?? this.#code);
  }

  /** All members that are here. */
  get members(): Member[] {
    return this.#call((core) => core.members()) as Member[];
  }

  /** This member. */
  get me(): Member {
    return this.members.find((member) => member.isMe) ?? NO_ONE;
  }

  /** The member that hosts. */
  get host(): Member | undefined {
    return this.members.find((member) => member.isHost);
  }

  /** The number of the host's term: it grows with each change of host. */
  get term(): number {
    return (this.#term = this.#call((core) => core.term()) ?? this.#term);
  }

  /** The round trip to a member in seconds; `undefined` before it is known. */
  roundTrip(member: Member): number | undefined {
    return this.#call((core) => core.roundTrip(member.seat));
  }

  /** The quality of the connections, and how old the others' data are; `undefined` while this program is away. */
  get stats(): Stats | undefined {
    return this.#call((core) => core.stats()) as Stats | undefined;
  }

  /** The state that the host keeps for all, as last heard of. Only asks change it. */
  get state(): Frozen<S> {
    const text = this.#call((core) => core.state()) ?? this.#state?.text ?? "";
    if (this.#state?.text !== text) {
      // A host that breaks the rules may write anything; then the state of before stands.
      const value = text ? frozen(text) : undefined;
      this.#state = { text, value: (value as Frozen<S> | undefined) ?? this.#state?.value ?? this.#begin };
    }
    return this.#state.value;
  }

  /** The world after its last step. */
  get world(): Frozen<W> {
    return this.#worldCopy.now as Frozen<W>;
  }

  /** The worlds to draw between: before and after the last step, and how far the present is from one to the other, 0 to 1. */
  get between(): { before: Frozen<W>; after: Frozen<W>; share: number } {
    return this.#worldCopy.between as { before: Frozen<W>; after: Frozen<W>; share: number };
  }

  /**
   * How often this program's world was found to differ from the host's; at the host, how often another member's was.
   * Above zero a step depends on something that the members do not share.
   */
  get worldDiffered(): number {
    return this.#call((core) => core.worldDiffered());
  }

  /**
   * This player's input to the steps of the world, `undefined` before it was set. An input that is set takes effect some
   * steps later, at all members in the same step.
   */
  get input(): Values<I> | undefined {
    return this.#worldCopy.values;
  }

  set input(input: Values<I>) {
    this.#worldCopy.input = input;
  }

  /** Makes an object that this program owns. */
  create<F extends Fields>(type: ObjectType<F>, values: Values<F>): Shared<F> {
    const id = this.#call((core) => core.create(this.#kind(type), ...write(type.fields, values)));
    return this.#shared(type, { id });
  }

  /**
   * The object of this type that this player had before a reload, or else a new one. If the others went on without this
   * program and ended the object, it is made again when this program is back.
   */
  own<F extends Fields>(type: ObjectType<F>, values: Values<F>): Shared<F> {
    const kind = this.#kind(type);
    const own = (written: Written) => this.#call((core) => core.own(kind, ...written));
    const written = write(type.fields, values);
    // The object is the same at each call, so its handles share its name.
    const name: Name = this.#owned.get(kind)?.name ?? { id: "", written };
    name.id = own(written);
    this.#owned.set(kind, { name, again: () => (name.id = own(name.written ?? written)) });
    return this.#shared(type, name);
  }

  /** All objects of a type, as they are shown at present. */
  all<F extends Fields>(type: ObjectType<F>): Shared<F>[] {
    const all = this.#call((core) => core.all(this.#kind(type))) as Seen[];
    return all.map((seen) => this.#shared(type, { id: seen[0] }, seen));
  }

  /** Ends an object of one's own. */
  destroy(object: { readonly id: string }): void {
    this.#call((core) => core.destroy(object.id));
    for (const [kind, { name }] of this.#owned) if (name.id === object.id) this.#owned.delete(kind);
  }

  /** Asks for an object that this player touches. It can be changed at once. */
  touch(object: { readonly id: string }): void {
    this.#call((core) => core.touch(object.id));
  }

  /** Asks the host for an object that may change hands, for as long as this program wants it. */
  request(object: { readonly id: string }): void {
    this.#call((core) => core.request(object.id));
  }

  /** Gives an object of one's own to another player, or to the host. */
  give(object: { readonly id: string }, to: "host" | Member): void {
    this.#call((core) => core.give(object.id, to === "host" ? undefined : to.seat));
  }

  /**
   * Tells others something: at most 16,384 bytes as JSON, and some 1,000 with `none`. `all` are all others. An order besides
   * `sender` and `none` is for all. In `total`, `stable` and `time` this program hears its message, too, in its place.
   */
  send(to: "all" | "host" | Member, message: M, order: Order = "sender"): void {
    const seat = to === "all" ? -1 : to === "host" ? -2 : to.seat;
    if (seat !== -1 && order !== "sender" && order !== "none") {
      throw new SamovarError("NotInTheRules", `messages in the order “${order}” go to all`);
    }
    const text = JSON.stringify(message) as string | undefined;
    if (text === undefined) throw new SamovarError("BadMessage", "a message is plain data");
    if (!ORDERS.includes(order)) throw new SamovarError("NotInTheRules", `there is no order “${order}”`);
    this.#call((core) => core.send(seat, order, fits("a message", text, MESSAGE_MAX)));
  }

  /** As the host, puts a player out; with `forGood` the relay keeps the player out, too. */
  putOut(member: Member, { forGood = false } = {}): void {
    this.#call((core) => core.putOut(member.seat, forGood));
  }

  /** As the host, lets another member host. */
  handOver(): void {
    this.#call((core) => core.handOver());
  }

  /** Leaves for good. Does nothing once the room is over, for whatever reason. */
  async leave(): Promise<void> {
    if (this.#isOver) return;
    this.#check();
    // A program that is no member at the moment just ends.
    if (!this.#core.leave() && this.#end()) this.#over.resolve();
    await this.finished;
  }

  /** Tells the relay what its list shall say of the room. */
  #list(): void {
    guarded(() => {
      const { title = "", isOpen = true } = this.game.listing?.(this.state as S) ?? {};
      this.#core.listAs(title, isOpen);
    });
  }

  /** Ends the core at once. Returns whether it was not over yet. */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#core.free();
    return true;
  }

  get #worldCopy(): Copy<W, I> {
    if (!this.#copy) throw new SamovarError("BadSchema", "the game names no world");
    return this.#copy;
  }

  #kind(type: ObjectType): number {
    const place = (this.game.objects ?? []).indexOf(type);
    if (place < 0) {
      const text = `the game's \`objects\` do not name these objects “${type.name}”, made by this call of \`object\``;
      throw new SamovarError("BadSchema", text);
    }
    return place + 1;
  }

  #member(seat: number): Member {
    if (this.#isOver) return { ...NO_ONE, seat };
    return (this.#core.member(seat) as Member | undefined) ?? { ...NO_ONE, seat };
  }

  /** Throws if the room cannot be called now. */
  #check(): void {
    if (this.#isDeciding) throw new SamovarError("Deciding", "a function of `decide` only changes the state");
    if (this.#copy?.isStepping)
      throw new SamovarError("Stepping", "a step of the world only changes the world");
    if (this.#isOver) throw new SamovarError("NotJoined", "this program is no member now");
  }

  #call<R>(call: (core: Core) => R): R {
    this.#check();
    const wasBusy = this.#isBusy;
    this.#isBusy = true;
    try {
      return call(this.#core);
    } catch (why) {
      throw errorOf(why);
    } finally {
      this.#isBusy = wasBusy;
    }
  }

  /** An object whose fields are read from what was seen, or from the room. */
  #shared<F extends Fields>(type: ObjectType<F>, object: Name, seen?: Seen): Shared<F> {
    const now = () => this.#call((core) => core.get(object.id)) as Seen | undefined;
    const find = () => seen ?? now();
    const values = (found: Seen | undefined) => (found ? read(type.fields, found[4], found[5]) : {});
    const shared = {
      get id() {
        return object.id;
      },
      get owner() {
        return find()?.[1] ?? NO_ONE;
      },
      get isMine() {
        return find()?.[2] ?? false;
      },
    };
    for (const name of Object.keys(type.fields)) {
      Object.defineProperty(shared, name, {
        enumerable: true,
        get: () => values(find())[name],
        set: (value: unknown) => {
          const found = now();
          // Without an object there is nothing to write; the core says whether it is gone or this program is away.
          if (!found) return this.#call((core) => core.edit(object.id, new Int32Array(), []));
          const changed = write(type.fields, { ...values(found), [name]: value });
          this.#call((core) => core.edit(object.id, ...changed));
          object.written = changed;
          if (seen) [seen[4], seen[5]] = changed;
        },
      });
    }
    return Object.seal(shared) as Shared<F>;
  }

  #decide(state: string, from: Member, ask: string): string {
    const asked = parse(ask);
    const [name, argument] = Array.isArray(asked) ? (asked as [unknown, unknown]) : [];
    const value =
      (state ? (parse(state) as S | undefined) : undefined) ?? (structuredClone(this.#begin) as S);
    const isKnown = typeof name === "string" && Object.hasOwn(this.game.decide ?? {}, name);
    this.#isDeciding = true;
    try {
      const result: unknown = isKnown ? this.game.decide![name]!(value, argument, from) : undefined;
      if (result instanceof Promise)
        console.error(`samovar: decide.${String(name)} is async: what it does later is lost`);
    } catch (why) {
      console.error(`samovar: decide.${String(name)} failed`, why);
      throw why;
    } finally {
      this.#isDeciding = false;
    }
    return JSON.stringify(value) ?? "";
  }

  /** Keeps news until the core is at rest, so that a listener can call the room. */
  #note(news: () => void): void {
    this.#news.push(news);
    if (!this.#isBusy) queueMicrotask(() => this.#hear());
  }

  #tell<K extends keyof Events<M>>(event: K, ...news: Parameters<Events<M>[K]>): void {
    each(this.#ears[event], (listener) => (listener as (...news: Parameters<Events<M>[K]>) => void)(...news));
  }

  #hear(): void {
    // News behind the first one, that this program is in, waits until the program can listen.
    while (this.#news.length > 0 && (this.#isOpen || this.#joined !== undefined)) {
      guarded(this.#news.shift()!);
    }
  }

  /** Plays on while the browser withholds frames. Otherwise the next frame does. */
  #wake(): void {
    if (performance.now() > this.#framed + WITHHELD_AFTER) this.#step();
  }

  /** Handles what has arrived, also while the browser draws no frames. Returns whether this program is a member. */
  #step(): boolean {
    if (this.#isOver || this.#isBusy) return false;
    this.#isBusy = true;
    let isMember = false;
    try {
      isMember = this.#core.step();
    } catch (why) {
      this.#isOver = true;
      this.#over.reject(new SamovarError("Broken", "the core of the package failed", { cause: why }));
      return false;
    } finally {
      this.#isBusy = false;
    }
    this.#hear();
    if (this.#isOver) return false;
    const text = this.#core.state();
    if (this.#isOpen && text !== undefined) {
      if (text !== this.#listed) {
        this.#listed = text;
        this.#list();
      }
      if (text !== this.#told) {
        this.#told = text;
        this.#tell("state");
      }
    }
    // A listener may have ended it.
    const end = this.#isOver ? undefined : this.#core.end();
    if (end === undefined) return isMember && !this.#isOver;
    this.#isOver = true;
    const [code, why] = end;
    if (code && why) this.#over.reject(new SamovarError(code as ErrorCode, why));
    else this.#over.resolve();
    return false;
  }
}

/** An error of the core, as this package throws it. */
function errorOf(why: unknown): unknown {
  const { code, message } = why as { code?: ErrorCode; message: string };
  return code === undefined ? why : new SamovarError(code, message, { cause: why });
}

/** Calls a function of the program; an error in it is the browser's to report, and stops nothing here. */
function guarded(call: () => void): void {
  try {
    call();
  } catch (why) {
    reportError(why);
  }
}

/** Calls each of these. One that comes meanwhile is called the next time, and one that goes meanwhile no more. */
function each<F>(all: Set<F>, call: (one: F) => void): void {
  for (const one of [...all]) if (all.has(one)) guarded(() => call(one));
}

/** The plain data of a text, which nobody may change; `undefined` for a text that holds none. */
function frozen(text: string): unknown {
  try {
    return JSON.parse(text, (_, value: unknown) => Object.freeze(value));
  } catch {
    return undefined;
  }
}

const STATE_MAX = 4_000;
const ASK_MAX = 250;
const MESSAGE_MAX = 16_384;

/** The bytes of a text. */
function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Refuses a text that is too long. */
function fits(what: string, text: string, most: number): string {
  // A letter takes three bytes at most, so a short text need not be counted.
  const bytes = 3 * text.length > most ? bytesOf(text) : 0;
  if (bytes <= most) return text;
  throw new SamovarError("TooLarge", `${what} has at most ${most} bytes as JSON, and this one ${bytes}`);
}

function textOfState(state: unknown): string {
  return fits("the state at the beginning", (JSON.stringify(state) as string | undefined) ?? "", STATE_MAX);
}

/** Refuses what no game and no way into it can be. TypeScript sees most of it before. */
function check(
  { game, version, orders = [], spectators = 0 }: Pick<AnyGame, "game" | "version" | "orders" | "spectators">,
  code: unknown,
  { name, relay = "" }: { name: unknown; relay?: unknown },
): void {
  const fail = (text: string): never => {
    throw new SamovarError("BadSchema", text);
  };
  if (typeof game !== "string" || game === "") fail("a game has a name");
  const isWhole = (number: number, most: number) => Number.isInteger(number) && number >= 0 && number <= most;
  if (!isWhole(version, 2 ** 32 - 1)) fail(`a version is a whole number below 2 ** 32, and not ${version}`);
  if (!isWhole(spectators, 31)) fail(`a game has 0 to 31 spectators, and not ${spectators}`);
  for (const order of orders) if (!ORDERS.includes(order)) fail(`there is no order “${order}”`);
  if (typeof code !== "string")
    throw new SamovarError("BadCode", `a code is a text, and not ${String(code)}`);
  if (typeof relay !== "string") throw new SamovarError("BadAddress", "a relay's address is a text");
  if (typeof name !== "string" || name.trim() === "") {
    throw new SamovarError("BadName", 'a player has a name: `{ name: "Ann" }`');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
