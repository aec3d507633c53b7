// The interface of the Kubernetes client: typed verbs whose results are slimmed. It caches nothing and retries nothing.

import type { Milliseconds } from "../../core/brand.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { KubeObject, ObjectKey } from "../objects.ts";
import type { Patch } from "../patches/patch.ts";
import type { OpenStream, Verb } from "../requests/request.ts";
import type { Lane } from "../requests/request-limit.ts";
import type { WritePriority } from "../requests/write-concurrency.ts";
import type { Query, Resource } from "../resources.ts";

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** The limit for the next page, which is lower than requested if the objects were too large to parse without a pause. */
  readonly limit?: number;
  readonly resourceVersion: string;
  /** Unset on the last page. */
  readonly continue?: string;
}

/** The server rejects the delete with a conflict unless all of these match. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface RawRequest {
  readonly verb: Verb;
  /** The resource for metrics: "tokenreviews", "readyz". */
  readonly resource: string;
  /** The object for messages, and for permissions that are restricted by name. */
  readonly object?: string;
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly deadline?: Milliseconds;
}

/** The identity and the permissions of a client. All clients of one `Requests` share its limits and connections. */
export interface ClientOptions {
  readonly userAgent: string;
  readonly lane?: Lane;
  readonly priority?: WritePriority;
  readonly deadline?: Milliseconds;
  /** If unset, every write is allowed (leases, authentication). */
  readonly mayWrite?: WriteGate;
}

/** An object to create; the server fills in the remaining metadata. */
export type Draft<T extends KubeObject> = Omit<T, "metadata"> & {
  readonly metadata: Partial<T["metadata"]> & { readonly name: string };
};

export interface KubeApi {
  readonly origin: string;
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T>;
  listPage<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<Page<T>>;
  create<T extends KubeObject>(resource: Resource<T>, draft: Draft<T>, signal: AbortSignal): Promise<T>;
  /** A PUT guarded by the resourceVersion of the object: for objects that only Fairlead writes (the lease). */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, signal: AbortSignal): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T>;
  /** Like `patch`, for a cached object. If this version still exists, the server returns only metadata, and the patch is applied here. */
  patchKnown<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T>;
  delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    preconditions: Preconditions,
    signal: AbortSignal,
  ): Promise<void>;
  /** For paths without a `Resource`: reviews, tokens, health, version. The result is not slimmed. */
  request(raw: RawRequest, signal: AbortSignal): Promise<unknown>;
  openWatch<T extends KubeObject>(
    resource: Resource<T>,
    options: { readonly namespace?: string; readonly query: Query },
    signal: AbortSignal,
  ): Promise<OpenStream>;
  /** Resolves on the next response to any client of this server, except a 5xx. */
  whenAnswered(signal: AbortSignal): Promise<void>;
  /** The same server with a different user agent, lane or gate. */
  as(options: Partial<ClientOptions>): KubeApi;
}
