/**
 * The codes of errors. A later version may have more.
 *
 * A room that was not entered, or has ended:
 *
 * | code | meaning |
 * |---|---|
 * | `NoSuchGame`, `CodeTaken` | no room has the code; another game's room has it |
 * | `Full`, `Closed` | no place is free; the host admits nobody any more |
 * | `PutOut`, `Banned` | the host or the relay's operator has put this player out; the operator lets nobody in from this network |
 * | `OtherGame`, `OtherVersion` | the room plays another game, or another version of it; the relay or the host has another version of Samovar |
 * | `BadCode`, `BadName`, `BadCapacity`, `BadAddress` | what the program gave is no code, player's name, number of players or relay's address |
 * | `BadToken`, `NotAllowed` | the token does not serve; the game's own server lets this player not in |
 * | `Busy`, `Reserved` | the relay has as many rooms or players as it takes; it keeps the code for itself |
 * | `Unreachable` | the relay was never reached, and another attempt would end alike |
 * | `Ended`, `SeatTaken`, `HostLost`, `Removed` | the operator ended the room; another tab took the seat; the host is lost and the game allows no other; the others went on without this program |
 * | `Misbehaved`, `Panicked`, `Broken` | a peer broke the rules; the core failed |
 * | `NoPage`, `NotLoaded` | the program runs in no browser; the wasm file was not loaded |
 *
 * A call that was refused, and changed and sent nothing:
 *
 * | code | meaning |
 * |---|---|
 * | `NotJoined`, `Watching`, `NotHost` | this program is no member now; it only watches; only the host may do this |
 * | `NoSuchMember`, `NoSuchObject`, `TooManyObjects` | the member is not here; the object is gone; this program owns as many objects as it may |
 * | `NotYours`, `NotAvailable` | another member owns the object; it cannot be asked for, at least not now |
 * | `WouldBlock`, `TooLarge` | too much waits to be sent, so try again later; it is larger than allowed |
 * | `NotInTheRules`, `BadSchema` | the game's description does not name this; the description itself cannot be |
 * | `BadValue`, `BadMessage`, `BadWorld`, `BadEvent` | no value of the field; no plain data; there is no such event |
 * | `Deciding`, `Stepping` | a function of `decide`, or the step of a world, called the room |
 */
export type ErrorCode =
  | "BadAddress"
  | "BadCapacity"
  | "BadCode"
  | "BadEvent"
  | "BadMessage"
  | "BadName"
  | "BadSchema"
  | "BadToken"
  | "BadValue"
  | "BadWorld"
  | "Banned"
  | "Broken"
  | "Busy"
  | "Closed"
  | "CodeTaken"
  | "Deciding"
  | "Ended"
  | "Full"
  | "HostLost"
  | "Misbehaved"
  | "NoPage"
  | "NoSuchGame"
  | "NoSuchMember"
  | "NoSuchObject"
  | "NotAllowed"
  | "NotAvailable"
  | "NotHost"
  | "NotInTheRules"
  | "NotJoined"
  | "NotLoaded"
  | "NotYours"
  | "OtherGame"
  | "OtherVersion"
  | "Panicked"
  | "PutOut"
  | "Removed"
  | "Reserved"
  | "SeatTaken"
  | "Stepping"
  | "TooLarge"
  | "TooManyObjects"
  | "Unreachable"
  | "Watching"
  | "WouldBlock";

/** An error of this package. `code` is for programs and `message` for people. */
export class SamovarError extends Error {
  override readonly name = "SamovarError";
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
