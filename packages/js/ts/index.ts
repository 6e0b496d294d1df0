// Rooms that survive the loss of anybody: a player who reloads, the host, its backup, the relay.

export { SamovarError } from "./error.js";
export type { ErrorCode } from "./error.js";
export { Room, room } from "./room.js";
export type {
  AskOf,
  Asks,
  Change,
  Decide,
  Events,
  Frozen,
  Game,
  Making,
  Member,
  Order,
  Shared,
  Way,
} from "./room.js";
export { angle, choice, flag, int, object, range, text, vector } from "./schema.js";
export type { Field, Fields, Moving, ObjectType, Sharing, Tuple, Values } from "./schema.js";
export type { Ages, HostTerm, MemberStats, Route, Stats } from "./stats.js";
export { world } from "./world.js";
export type { Turn, World } from "./world.js";
