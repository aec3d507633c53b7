// The invariants of the design as code, checked after every write to the API server and whenever a replica hands a write
// to the network. They ask the truth of the simulated cloud, never what it says.

import { isLeaving, isReady, isUninitialized } from "../../src/controllers/node-facts.ts";
import type { LifecycleSettings } from "../../src/controllers/node-lifecycle/settings.ts";
import { networkCondition } from "../../src/controllers/route/status/network-condition.ts";
import {
  cloudCondition,
  labelPairs,
  shutdownTaint,
  uninitializedTaint,
} from "../../src/controllers/well-known.ts";
import type { Node } from "../../src/kube/objects.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/store.ts";
import { LeaseKnowledge } from "./lease-knowledge.ts";
import type { Replica } from "./replica.ts";
import type { Ending } from "./wire.ts";
import type { World } from "./world.ts";

export interface Violation {
  readonly invariant: number;
  readonly at: number;
  readonly text: string;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const oursLabels: readonly string[] = [
  ...Object.values(labelPairs).flatMap(({ current, beta }) => [current, beta]),
  "fake.example/type",
];
const oursTaints: readonly string[] = [uninitializedTaint, shutdownTaint];
const placeLabels: readonly string[] = [labelPairs.zone.current, labelPairs.region.current];

const setsShutdownTaint = ({ body }: TransportRequest): boolean => {
  const steps: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  if (!Array.isArray(steps)) return false;
  const [present, wanted] = (steps as { readonly path: string; readonly value?: unknown }[])
    .filter(({ path }) => path === "/spec/taints")
    .map(({ value }) => JSON.stringify(value ?? []).includes(shutdownTaint));
  return present !== wanted;
};

/** Three controllers work on one Node independently; what guards them from each other is in the patches. */
const controllerOf = (request: TransportRequest): "lifecycle" | "route" | "node" => {
  if (request.method === "DELETE" || setsShutdownTaint(request)) return "lifecycle";
  return String(request.body).includes(networkCondition) ? "route" : "node";
};

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #world: World;
  readonly #settings: LifecycleSettings;
  readonly #leases = new Map<string, LeaseKnowledge>();
  readonly #inFlight = new Map<string, number>();
  /** Of Nodes that nobody had announced, with the replica that did it. */
  #deletions: { readonly at: number; readonly by: string }[] = [];
  #managed: { readonly at: number; readonly count: number }[] = [];
  readonly #wereTerminating = new Set<string>();
  /** Writes of ours to Nodes, for the quiet times in which there should be none. */
  nodeWrites = 0;

  constructor(world: World, settings: LifecycleSettings) {
    this.#world = world;
    this.#settings = settings;
    world.server.onWrite((change) => this.#afterWrite(change));
  }

  machineIs(id: string, status: string): void {
    if (status === "terminating") this.#wereTerminating.add(id);
  }

  ended(replica: Replica, error: unknown): void {
    this.broken(13, `${replica.name} ended: ${error instanceof Error ? error.stack : String(error)}`);
  }

  /** 9 and 10: a write leaves the process. Returns what is called when the process is done with it. */
  handedOver(
    replica: Replica,
    request: TransportRequest,
    to: "kube" | "cloud" = "kube",
  ): (ending: Ending) => void {
    const { method } = request;
    if (method === "GET") return () => undefined;
    const path = new URL(request.url).pathname;
    const lease = this.#leases.get(replica.name) ?? new LeaseKnowledge(replica.clock);
    this.#leases.set(replica.name, lease);
    if (path.includes("/leases")) return lease.renewalSent();
    // What became of a Lease is told after it is lost; an event changes nothing.
    const isElection = /\/events(\/cloud-controller-manager\.|$)/.test(path);
    if (isElection && / (became leader|stopped leading)"/.test(String(request.body))) return () => undefined;
    const problem = lease.whyNot();
    if (problem !== undefined) this.broken(9, `${replica.name} handed over ${method} ${path}: ${problem}`);
    if (!this.#world.holdsLease(replica)) {
      this.broken(
        9,
        `${replica.name} handed over ${method} ${path} while ${this.#world.leader?.name} held the lease`,
      );
    }
    if (to === "cloud") return this.#world.cloudInvariants.handedOver(replica, request);
    const [, kind = "", name] = /\/(nodes|services)\/([^/]+)/.exec(path) ?? [];
    if (name === undefined) return () => undefined;
    const key = `${replica.name} ${kind === "nodes" ? controllerOf(request) : "service"} ${name}`;
    const count = (this.#inFlight.get(key) ?? 0) + 1;
    this.#inFlight.set(key, count);
    if (count > 1) this.broken(10, `${key}: ${count} writes in flight at once`);
    return () => {
      this.#inFlight.set(key, (this.#inFlight.get(key) ?? 1) - 1);
    };
  }

  #afterWrite(change: StoredChange): void {
    if (change.storage !== "nodes") return;
    const now = this.#world.clock.monotonic();
    this.#managed = [
      ...this.#managed.filter(({ at }) => at > now - 600_000),
      { at: now, count: this.#countManaged() + (change.type === "DELETED" ? 1 : 0) },
    ].slice(-2000);
    const { writer } = this.#world.script;
    if (writer === undefined) return;
    this.nodeWrites += 1;
    const before = change.before as unknown as Node | undefined;
    if (before === undefined) this.broken(4, `${writer} made the node ${change.object.metadata.name}`);
    else if (change.type === "DELETED") this.#deleted(before, writer);
    else this.#changed(before, change.object as unknown as Node, writer);
  }

  #countManaged(): number {
    return this.#world.nodes().filter(({ spec }) => (spec.providerID ?? "fake://").startsWith("fake://"))
      .length;
  }

  broken(invariant: number, text: string): void {
    const at = this.#world.clock.monotonic();
    this.#world.script.say(`BROKEN invariant ${invariant}: ${text}`);
    this.violations.push({ invariant, at, text });
  }

  /** 1 and 2. */
  #deleted(node: Node, writer: string): void {
    const { cloud, clock } = this.#world;
    const { name } = node.metadata;
    const id = node.spec.providerID;
    const key = /^fake:\/\/(\d+)$/.exec(id ?? "")?.[1];
    const hasID = id !== undefined && id !== "";
    if (hasID && key === undefined)
      this.broken(1, `${name} with the foreign id ${id} was deleted by ${writer}`);
    const exists = hasID
      ? key !== undefined && cloud.machines.has(key)
      : cloud.machines.list().some((machine) => machine.name === name);
    if (exists) this.broken(1, `${name} (${id ?? "no id"}) was deleted by ${writer}, but its machine exists`);
    if (isReady(node)) this.broken(2, `${name} was deleted by ${writer} while Ready`);
    const age = clock.now() - Date.parse(node.metadata.creationTimestamp ?? "");
    if (!hasID && age < this.#settings.minAgeWithoutID) {
      this.broken(2, `${name} without id was deleted by ${writer} when it was ${age / 1000} s old`);
    }
    const isAnnounced =
      isLeaving(node) ||
      node.metadata.annotations?.["fairlead.dev/node-deletion"] === "confirmed" ||
      (key !== undefined && this.#wereTerminating.has(key));
    if (node.metadata.annotations?.["fairlead.dev/node-deletion"] === "never") {
      this.broken(2, `${name} was deleted by ${writer} although its annotation says never`);
    }
    if (!isAnnounced) this.#countDeletion(name, writer);
  }

  #countDeletion(name: string, writer: string): void {
    const { massLimit } = this.#settings;
    if (massLimit === "off") return;
    const now = this.#world.clock.monotonic();
    this.#deletions = [
      ...this.#deletions.filter(({ at }) => at > now - massLimit.window),
      { at: now, by: writer },
    ];
    // What a process has not seen it cannot count: deletions from before its start are nowhere written down.
    const { startedAt } = this.#world.replicas.find((replica) => replica.name === writer) ?? {
      startedAt: now,
    };
    const recent = this.#deletions.filter(({ at }) => at >= startedAt).length;
    const managed = Math.max(...this.#managed.map(({ count }) => count)) + recent;
    const allowed = Math.max(massLimit.atLeast, Math.floor(managed * massLimit.share));
    if (recent > allowed) {
      const by = [...new Set(this.#deletions.map((each) => each.by))].join(", ");
      this.broken(
        2,
        `${name}: ${recent} unannounced deletions in 10 min by ${by}, ${allowed} are allowed of ${managed}`,
      );
    }
  }

  /** 3 and 4. */
  #changed(before: Node, after: Node, writer: string): void {
    const { name } = after.metadata;
    const wrong = (invariant: number, text: string) =>
      this.broken(invariant, `${writer} on ${name}: ${text}`);
    const id = after.spec.providerID ?? "";
    const hadID = (before.spec.providerID ?? "") !== "";
    if (before.metadata.uid !== after.metadata.uid) wrong(4, "another uid");
    if (hadID && !before.spec.providerID?.startsWith("fake://")) wrong(4, "a foreign node was written to");
    if (hadID && before.spec.providerID !== id)
      wrong(4, `provider id ${before.spec.providerID} became ${id}`);
    if (before.metadata.annotations?.["fairlead.dev/paused"] === "true") wrong(4, "the node is paused");
    const losesTaint = isUninitialized(before) && !isUninitialized(after);
    if (!hadID && id !== "" && !losesTaint) wrong(3, "provider id without taking the taint away");
    if (!hadID && id !== "") this.#checkMachine(after, id, wrong);
    if (losesTaint) this.#checkInitialised(after, wrong);
    this.#checkForeign(before, after, wrong);
  }

  /** It is written once and for ever, so it has to be that of the machine there is, if there is one. */
  #checkMachine(node: Node, id: string, wrong: (invariant: number, text: string) => void): void {
    const { name } = node.metadata;
    const ids = this.#world.cloud.machines
      .list()
      .flatMap((each) => (each.name === name ? `fake://${each.id}` : []));
    if (ids.length > 0 && !ids.includes(id)) wrong(4, `got ${id}, but its machine is ${ids.join(", ")}`);
  }

  #checkInitialised(after: Node, wrong: (invariant: number, text: string) => void): void {
    const { name } = after.metadata;
    if ((after.spec.providerID ?? "") === "") wrong(3, "the taint left without a provider id");
    const kinds = (after.status.addresses ?? []).map(({ type }) => type);
    if (!kinds.includes("InternalIP")) wrong(3, "the taint left before the addresses were there");
    for (const key of [labelPairs.type.current, labelPairs.zone.current, labelPairs.region.current]) {
      if (after.metadata.labels?.[key] === undefined)
        wrong(3, `the taint left ${name} without the label ${key}`);
    }
  }

  #checkForeign(before: Node, after: Node, wrong: (invariant: number, text: string) => void): void {
    const labels = ({ metadata }: Node) =>
      Object.entries(metadata.labels ?? {})
        .filter(([key]) => !oursLabels.includes(key))
        .sort();
    if (!same(labels(before), labels(after))) wrong(4, "foreign labels changed");
    for (const key of placeLabels) {
      const was = before.metadata.labels?.[key];
      if (was !== undefined && was !== after.metadata.labels?.[key] && !isUninitialized(before)) {
        wrong(4, `the label ${key} was changed`);
      }
    }
    const taints = ({ spec }: Node) => (spec.taints ?? []).filter(({ key }) => !oursTaints.includes(key));
    if (!same(taints(before), taints(after))) wrong(4, "foreign taints changed");
    const conditions = ({ status }: Node) =>
      (status.conditions ?? []).filter(({ type }) => type !== cloudCondition && type !== networkCondition);
    if (!same(conditions(before), conditions(after))) wrong(4, "foreign conditions changed");
    if (!same(before.metadata.finalizers, after.metadata.finalizers)) wrong(4, "finalizers changed");
    if (!same(before.metadata.annotations, after.metadata.annotations)) wrong(4, "annotations changed");
    const rest = ({ spec: { taints: _, providerID: __, ...others } }: Node) => others;
    if (!same(rest(before), rest(after))) wrong(4, "other parts of the spec changed");
  }
}
