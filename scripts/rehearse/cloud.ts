// The parts of a cloud that a rehearsal needs: a simulated cloud, the settings of both managers, and Services with the
// annotations of the cloud. To add a cloud, write one file in `clouds` and add one line to `clouds/registry.ts`.

import type { Seen } from "#ccm/testing";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { State } from "./state.ts";

/** A Service of the rehearsal, in addition to the common parts. */
export interface RehearsedService {
  /** Annotations, including their prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** The ports; port 80 if absent. */
  readonly ports?: readonly { readonly port: number; readonly protocol?: "TCP" | "UDP" }[];
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A simulated cloud that is reached over HTTP. Disposing it closes its port. */
export interface RehearsedCloud extends AsyncDisposable {
  readonly api: { readonly seen: readonly Seen[]; forget(): void };
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The Services that exist from the start, by name. Users change the first one. */
  readonly services: Readonly<Record<string, RehearsedService>>;
  /** The Nodes' names, if the cloud chooses them. */
  readonly nodes?: readonly string[];
  addMachine(name: string): void;
  /** The objects that managers change in the cloud, by names such as "load balancer web". */
  state(): State;
  /** The same state, if reading it takes requests. */
  describe?(): Promise<State>;
  /** Whether the cloud has what this many Nodes and Services of type LoadBalancer need. */
  isComplete(nodes: number, services: number): boolean;
}

export interface RehearsalDefinition {
  readonly name: string;
  readonly provider: AnyProvider;
  /** The variable with the command line of the Go manager. */
  readonly peerVariable: string;
  /** Environment variables that both managers get. */
  readonly passed: RegExp;
  /** The annotations of a changed Service, in turns. */
  changed(round: number): Readonly<Record<string, string>>;
  open(): RehearsedCloud;
}

export function prefixed(
  prefix: string,
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value]));
}
