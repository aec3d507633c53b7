// The view of read requests to the simulated cloud: by default the existing objects. A simulation replaces it to make the cloud's
// answers false, while the simulated cloud keeps its true state.

import type { SimulatedBalancer } from "./balancers.ts";
import type { SimulatedRoute } from "./routes.ts";
import type { SimulatedSnapshot } from "./snapshots.ts";
import type { SimulatedVolume } from "./volumes.ts";

/** A `lookup` names objects; a `listing` returns all of them. */
export type ReadKind = "listing" | "lookup";

export interface CloudView {
  balancers(existing: readonly SimulatedBalancer[], kind: ReadKind): readonly SimulatedBalancer[];
  routes(existing: readonly SimulatedRoute[], kind: ReadKind): readonly SimulatedRoute[];
  volumes(existing: readonly SimulatedVolume[], kind: ReadKind): readonly SimulatedVolume[];
  snapshots(existing: readonly SimulatedSnapshot[], kind: ReadKind): readonly SimulatedSnapshot[];
}

export const trueView: CloudView = {
  balancers: (existing) => existing,
  routes: (existing) => existing,
  volumes: (existing) => existing,
  snapshots: (existing) => existing,
};
