// The four kinds of objects to which one rule of doubt applies, each in a whole cluster. Objects are lost in the cloud, and
// their absence is the only reason to act: to delete Nodes and PersistentVolumes, and to recreate load balancers and routes.

import type { RemovalKind } from "../../../src/controllers/kernel/removal-kinds.ts";
import { type DoubtWorld, names, settled } from "./doubt-world.ts";

export interface DoubtKind {
  readonly kind: RemovalKind;
  /** The reason on each held object. */
  readonly reason: string;
  start(count: number): Promise<DoubtWorld>;
  /** This many objects from `from` on are gone in the cloud, without an announcement. */
  lose(w: DoubtWorld, count: number, from?: number): void;
  /** The object on which a hold's event appears. */
  nameOf(w: DoubtWorld, index: number): string;
  join(w: DoubtWorld, count: number): Promise<void>;
  /** The number of objects that were deleted or recreated because they are absent. */
  acted(w: DoubtWorld): number;
}

const requests = (w: DoubtWorld, operation: string): number =>
  w.cloud.seen.filter((request) => request.operation === operation).length;

const nodes: DoubtKind = {
  kind: "nodes",
  reason: "MassDeletionHeld",
  start: (count) => settled({ nodes: count }, ["nodes"]),
  lose: (w, count, from = 0) => w.loseMachines(...names("node", count, from)),
  nameOf: (_, index) => `node-${index}`,
  async join(w, count) {
    w.join(...names("new", count));
    await w.pass(60);
  },
  acted: (w) => w.written.filter((what) => what.startsWith("DELETE /api/v1/nodes/")).length,
};

const balancers: DoubtKind = {
  kind: "load-balancers",
  reason: "MassRecreationHeld",
  start: (count) => settled({ services: count }, ["load-balancers"]),
  lose(w, count, from = 0) {
    for (const name of names("web", count, from)) w.cloud.balancers.remove(w.balancerOf(name).id);
  },
  nameOf: (_, index) => `web-${index}`,
  async join(w, count) {
    const joining = names("new", count);
    for (const name of joining) w.create(name);
    await w.until(() => joining.every((name) => w.addressesOf(name).length === 1), "the first creations");
    w.forget();
  },
  acted: (w) => requests(w, "POST /balancers"),
};

const routes: DoubtKind = {
  kind: "routes",
  reason: "MassRouteRecreationHeld",
  start: (count) => settled({ nodes: count }, ["routes"]),
  lose(w, count, from = 0) {
    const ranges = new Set(names("node", count, from).map((name) => w.rangeOf(name)));
    for (const { id, destination } of w.cloud.routes.list())
      if (ranges.has(destination)) w.cloud.routes.remove(id);
  },
  nameOf: (_, index) => `node-${index}`,
  async join(w, count) {
    const before = w.cloud.routes.list().length;
    w.join(...names("new", count));
    await w.until(() => w.cloud.routes.list().length === before + count, "the first creations");
    w.forget();
  },
  acted: (w) => requests(w, "POST /routes"),
};

const volumes: DoubtKind = {
  kind: "volumes",
  reason: "MassDeletionHeld",
  start: (count) => settled({ nodes: 3, claims: count }, ["volumes"]),
  lose(w, count, from = 0) {
    for (const claim of names("data", count, from)) {
      w.cloud.volumes.remove(w.handleOf(claim));
      w.deleteClaim(claim);
    }
  },
  nameOf: (w, index) =>
    w.volumes().find(({ spec }) => spec?.claimRef?.name === `data-${index}`)?.metadata.name ?? "",
  async join(w, count) {
    const joining = names("new", count);
    for (const name of joining) w.claim(name);
    await w.until(() => joining.every((name) => w.isBound(name)), "the first creations");
  },
  acted: (w) => w.written.filter((what) => what.startsWith("DELETE /api/v1/persistentvolumes/")).length,
};

export const doubtKinds: readonly DoubtKind[] = [nodes, balancers, routes, volumes];
