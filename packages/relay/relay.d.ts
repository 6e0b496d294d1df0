/** A relay that runs. */
export interface RunningRelay {
  /** The address and port at which it listens. */
  readonly address: string;
  /** Its address for a page: `ws://…/ws`. */
  readonly url: string;
  /** Stops it. */
  stop(): Promise<void>;
}

/** How a relay is started. */
export interface RelayOptions {
  /** The address and port to listen at; a free port of this machine unless set. */
  listen?: string;
  /** The directory of its key; `node_modules/.samovar/relay` unless set. With it, rooms go on after a restart. */
  data?: string;
  /** Further arguments of `samovar-relay serve`. */
  args?: readonly string[];
}

/** The path of the relay's program: `SAMOVAR_RELAY_BIN`, or that of the package for this machine. */
export function relayProgram(): string;

/** The directory for the key of a relay that is started in this folder. */
export function dataDirectory(name?: string): string;

/** Starts a relay, which stops when this process ends. Resolves when it listens. */
export function startRelay(options?: RelayOptions): Promise<RunningRelay>;
