// The options of a `ServiceWorld`.

import type { OpenSocket } from "../../src/platform/socket.ts";
import type { Transport } from "../../src/platform/transport.ts";
import type { Authorize } from "../../src/testing/apiserver/http/serve-reviews.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import type { ServiceWorld } from "./service-world.ts";

export interface ServiceWorldOptions {
  /** A second manager in the cluster of that world, in its account or in another one with machines of the same ids. */
  readonly beside?: { readonly world: ServiceWorld; readonly account: "same" | "other" };
  readonly seed?: number;
  readonly nodes?: number;
  readonly latency?: number;
  readonly actionTime?: number;
  readonly provider?: unknown;
  /** The controllers; `service` by default. */
  readonly controllers?: string;
  /** Replaces the fake cloud. */
  readonly cloud?: (clock: VirtualClock) => Transport;
  /** The WebSockets of that cloud. */
  readonly socket?: () => OpenSocket;
  readonly environment?: Readonly<Record<string, string>>;
  /** Settings of that cloud that flags cannot have, such as lists of records. */
  readonly cloudFile?: Readonly<Record<string, string>>;
  readonly providerIDOf?: (node: string) => string;
  /** Authorizes requests to the API server; allows all by default. */
  readonly authorize?: Authorize;
}

export interface ServiceDraft {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly spec?: JsonObject;
}

/** Called before a request is sent, and after it took effect but before its response arrives. */
export type Crossing = (what: string, when: "before" | "after") => void;
