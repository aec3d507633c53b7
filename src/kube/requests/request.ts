// What is asked of the API server, as a value, and what becomes of it: the words that the client and those who watch it
// share. Nothing here sends anything.

import type { Milliseconds } from "../../core/brand.ts";
import type { Query } from "../resources.ts";
import type { Lane } from "./request-ceiling.ts";
import type { WritePriority } from "./write-window.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** The HTTP method of each. */
export const methodOf = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
} as const satisfies Record<Verb, string>;

/** Asked directly before a write is handed to the network. */
export type WriteGate = () => true | { readonly reason: string };

export interface KubeRequest {
  readonly verb: Verb;
  /** For metrics and messages: "nodes", "services/status". */
  readonly resource: string;
  readonly object?: string;
  readonly path: string;
  readonly query?: Query;
  readonly body?: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly userAgent: string;
  readonly lane: Lane;
  readonly priority: WritePriority;
  readonly deadline?: Milliseconds;
  readonly mayWrite?: WriteGate;
}

export interface RequestObservation {
  readonly verb: Verb;
  readonly resource: string;
  readonly object?: string;
  /** Status code as text, or the kind of failure when there was none. */
  readonly code: string;
  readonly duration: Milliseconds;
}

export interface OpenStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends the connection and gives the place back; calling it twice does no harm. */
  close(): void;
  /** So many bytes of it have been decoded. */
  decoded(bytes: number): void;
  /** Nothing came for too long: counts as a deadline of this connection. */
  stalled(): void;
}
