/** A relay that runs. */
export interface RunningRelay {
  /** The address and port at which it listens. */
  readonly address: string;
  /** Its address for a page: `ws://…/ws`. */
  readonly url: string;
  /** Settles when it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Stops it. */
  stop(): Promise<void>;
}

/** How a relay is started. */
export interface RelayOptions {
  /** The address and port to listen at; a free port of this machine unless set. */
  listen?: string | undefined;
  /** The directory of its key; one in `node_modules/.samovar` unless set. With the same one, rooms go on after a restart. */
  data?: string | undefined;
  /** Further arguments of `samovar-relay serve`. */
  args?: readonly string[] | undefined;
}

/** The path of the relay's program: `SAMOVAR_RELAY_BIN`, or that of the package for this machine. */
export function relayProgram(): string;

/** The directory for the key of a relay that is started in this folder. */
export function dataDirectory(name?: string): string;

/** Starts a relay, which stops when this process ends. Resolves when it listens. */
export function startRelay(options?: RelayOptions): Promise<RunningRelay>;
