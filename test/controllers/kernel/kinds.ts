// The three kinds of objects to which one rule of absence applies, each in its own world: Nodes without an instance, and load
// balancers and routes that the cloud does not show. Tests treat them alike.

import { trueView } from "../../../providers/fake/simulator/view.ts";
import type { RemovalKind } from "../../../src/controllers/kernel/removal-kinds.ts";
import type { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import type { Condition } from "../../../src/kube/objects.ts";
import { NodeControllers } from "../../support/node-controllers.ts";
import { machine, outage } from "../../support/scripted-source.ts";
import { ServiceWorld } from "../../support/service-world.ts";
import { RouteWorld } from "../route/route-world.ts";

/** Settled objects, and the cloud that shows them. */
export interface AbsenceWorld {
  /** Answers lack these objects, which exist; all other objects are shown. */
  hide(count: number): void;
  /** Requests to the cloud take this long. */
  slow(time: number): void;
  /** Requests to the cloud fail. */
  fail(isFailing: boolean): void;
  /** Requests a new answer of the cloud now. */
  check(): void;
  pass(time: number): Promise<void>;
  /** Another leadership session begins: in the same process, or after a restart. */
  handOver(): Promise<void>;
  /** The number of objects that were removed or recreated because they seem to be absent. */
  acted(): number;
  readonly removals: RemovalMemory;
  stop(): Promise<void>;
}

export interface AbsenceKind {
  readonly kind: RemovalKind;
  readonly start: (count: number) => Promise<AbsenceWorld>;
}

const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

const nodes: AbsenceKind = {
  kind: "nodes",
  async start(count) {
    const names = namesOf(count);
    const w = new NodeControllers({
      machines: names.map((name) => machine(name)),
      script: { takes: milliseconds(1), pageSize: 100 },
    }).start("lifecycle");
    for (const name of names) {
      w.nodes.add({
        name,
        createdAt: w.clock.now() - 86_400_000,
        spec: { providerID: `fake://${name}` },
        status: { conditions: [{ type: "Ready", status: "False" }] },
      });
    }
    await w.pass(60);
    return {
      hide(hidden) {
        w.cloud.hidden.clear();
        for (const name of names.slice(0, hidden)) w.cloud.hidden.set(name, "both");
      },
      slow(time) {
        w.cloud.takes = seconds(time);
      },
      fail(isFailing) {
        w.cloud.failure = isFailing ? { error: outage() } : undefined;
      },
      check() {
        w.inventory.requestListing(w.clock.monotonic(), "refresh");
        for (const name of names) w.lifecycle.checkNow(name);
      },
      pass: (time) => w.pass(time),
      handOver: () => w.handOver(),
      acted: () => count - w.nodes.names().length,
      removals: w.removals,
      stop: () => w.stop(),
    };
  },
};

const routeCreated: Condition = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };

const routes: AbsenceKind = {
  kind: "routes",
  async start(count) {
    const w = new RouteWorld({ settings: { fullCheck: exactly(seconds(86_400)) } });
    const ranges = namesOf(count).map((name, index) => ({ name, range: `10.244.${index}.0/24` }));
    for (const { name, range } of ranges) {
      w.add(name, range, { conditions: [routeCreated] });
      w.cloud.put(range, { targetKey: name });
    }
    await w.settle();
    await w.pass(60);
    return {
      hide(hidden) {
        const absent = new Set<string>(ranges.slice(0, hidden).map(({ range }) => range));
        w.cloud.hides = ({ destination }) => absent.has(destination);
      },
      slow(time) {
        w.cloud.takes = seconds(time);
      },
      fail(isFailing) {
        if (isFailing) w.cloud.failures.set("list", outage("GET /routes"));
        else w.cloud.failures.delete("list");
      },
      check: () => w.controller.queue.add("routes"),
      pass: (time) => w.pass(time),
      handOver: () => w.handOver(),
      acted: () => new Set(w.cloud.changes).size,
      removals: w.removals,
      stop: () => w.stop(),
    };
  },
};

const balancers: AbsenceKind = {
  kind: "load-balancers",
  async start(count) {
    const w = new ServiceWorld();
    await w.start();
    const names = namesOf(count);
    for (const name of names) w.create(name);
    await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
    await w.pass(60);
    w.forget();
    w.cloud.balancers.hasUniqueNames = false;
    return {
      hide(hidden) {
        w.cloud.view = { ...trueView, balancers: (existing) => existing.slice(hidden) };
      },
      slow(time) {
        w.cloud.latency = seconds(time);
      },
      fail(isFailing) {
        w.cloud.faults.clear();
        if (isFailing)
          w.cloud.faults.add({ kind: "status", operation: "GET /balancers", status: 500, calls: 1_000_000 });
      },
      check: () => w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh"),
      pass: (time) => w.pass(time),
      async handOver() {
        await w.stop();
        await w.start();
      },
      acted: () => w.cloud.balancers.list().length - count,
      get removals() {
        return w.manager.removals as RemovalMemory;
      },
      stop: () => w.stop(),
    };
  },
};

export const absenceKinds: readonly AbsenceKind[] = [nodes, balancers, routes];
