// The values that describe a request to the API server, its outcome for metrics, and an open watch stream.

import type { Milliseconds } from "../../core/brand.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Denial } from "../errors/kube-error.ts";
import type { Query } from "../resources.ts";
import type { Lane } from "./request-limit.ts";
import type { WritePriority } from "./write-concurrency.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** The HTTP method of each verb. */
export const methodOf = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
} as const satisfies Record<Verb, string>;

export interface KubeRequest {
  readonly verb: Verb;
  /** The resource for metrics and messages: "nodes", "services/status". */
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
  /** A larger response fails as `too-large`, and is not parsed. */
  readonly maxBytes?: number;
}

export interface RequestObservation {
  readonly verb: Verb;
  readonly resource: string;
  readonly object?: string | undefined;
  /** The status code; the kind of `KubeError` if there was no response; or "aborted" if the caller stopped waiting. */
  readonly code: string;
  readonly denial?: Denial | undefined;
  /** The user that lacks the permission, as the API server names it. */
  readonly refusedUser?: string | undefined;
  readonly duration: Milliseconds;
  /** The header with which the request was sent. */
  readonly traceparent?: string | undefined;
}

/** A single attempt to send a request. */
export interface Sending {
  /** Called when the request was handed to the network. */
  readonly onSent: () => void;
  /** The W3C Trace Context header by which the API server's spans refer to the request. */
  readonly traceparent: string | undefined;
}

export interface OpenStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends the connection and frees its place; calling it again has no effect. */
  close(): void;
  /** Reports decoded bytes to the garbage meter. */
  decoded(bytes: number): void;
  /** Reports that the stream was silent for too long, which counts as a timeout of its connection pool. */
  stalled(): void;
}
