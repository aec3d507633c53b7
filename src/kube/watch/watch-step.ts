// The options of a watch, and the steps that it yields.

import type { Milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { KubeApi } from "../client/api.ts";
import type { KubeError } from "../errors/kube-error.ts";
import type { KubeObject } from "../objects.ts";
import type { Resource } from "../resources.ts";

export type WatchStep<T> =
  /** A list begins; the previous content stays valid until "complete". A second "begin" discards the first list. */
  | { readonly type: "begin" }
  | { readonly type: "object"; readonly object: T; readonly initial: boolean }
  | { readonly type: "deleted"; readonly object: T }
  | { readonly type: "complete"; readonly resourceVersion: string }
  /** Nothing changed up to this version. */
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** A connection ended normally, and the server accepted the next connection from the same version. */
  | { readonly type: "resumed" }
  | { readonly type: "failed"; readonly error: KubeError; readonly retryIn: Milliseconds };

export type WatchApi = Pick<KubeApi, "origin" | "openWatch" | "listPage" | "whenAnswered">;

export interface WatchOptions<T extends KubeObject> {
  readonly api: WatchApi;
  readonly resource: Resource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Called after each page of a list. */
  readonly collectGarbage?: (() => void) | undefined;
}

/** The state of a watch across its connections. */
export interface WatchPosition {
  /** Undefined if a complete list is needed first. */
  resourceVersion: string | undefined;
  /**
   * Lists are paged until this time (monotonic), because the server rejected or ignored a streaming list, or failed to
   * complete several in a row.
   */
  pagedUntil: number;
  /** The number of consecutive streaming lists that the server accepted but did not complete. */
  incompleteLists: number;
  /** Whether the current connection has completed a list, or delivered a later change or bookmark. */
  hasProgressed: boolean;
  /** When the server last completed a list, or sent a change or a bookmark after one (monotonic). */
  heardAt: number;
  endedNormally: boolean;
}
