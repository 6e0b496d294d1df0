/** The path that packets take to a member: from peer to peer, over the host, or over the relay. */
export type Route = "direct" | "byHost" | "relayByUdp" | "relay" | "unknown";

/** The connection to another member. */
export interface MemberStats {
  readonly seat: number;
  readonly route: Route;
  /** The round trip in seconds; `undefined` before the first. */
  readonly roundTrip: number | undefined;
  /** The share of the packets to and from the member that was lost lately, 0 to 1. */
  readonly lossOut: number;
  readonly lossIn: number;
  /** Bytes sent to and received from the member, without the network's own. */
  readonly bytesOut: number;
  readonly bytesIn: number;
}

/** A host's time in office. */
export interface HostTerm {
  readonly term: number;
  readonly name: string;
  /** The session's time in seconds at which this program heard of the term. */
  readonly since: number;
}

/** How old data was, in seconds. */
export interface Ages {
  readonly samples: number;
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
}

/** The quality of the connections, and the ages of the states of others' moving objects. */
export interface Stats {
  /** The connection to each other member that is not away. */
  readonly members: readonly MemberStats[];
  /** The last 16 hosts, the present one last. */
  readonly hosts: readonly HostTerm[];
  /** The ages when the owners sent the states, when they arrived, when they could be read, and in each frame that showed them. */
  readonly ages: Readonly<Record<"sent" | "received" | "applied" | "drawn", Ages>>;
}
