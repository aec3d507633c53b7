// Checks the invariants about Nodes and leadership after every write to the API server, and whenever a replica sends a request.
// It uses the real state of the simulated cloud, not what the cloud reports.
//
//  1  A Node whose machine exists is never deleted.
//  2  A Node is deleted only when it is not Ready, old enough, not protected by annotation, and within the mass limit.
//  3  The uninitialized taint leaves in the write that sets provider id and labels, after the addresses.
//  4  Only Fairlead's own fields change; a provider id never changes; paused and foreign Nodes are not touched. A taint that a user of
//     the cloud wrote is never NoExecute.
//  9  A replica writes only while it holds the Lease and the Lease cannot have expired.
// 10  There is at most one write per object and controller in flight.
// 11  The number of cloud calls in an idle hour depends on pages, not on Nodes or Services.
// 12  Once converged there are no writes, not even after a restart.
// 13  Everything converges, and no replica exits on its own.
// 20  Only a replica that was asked to stop, or whose lists fail for minutes, releases its Lease: a reload does not.
// 30  The taint out-of-service is not set on a Node whose machine runs; by default, no NoExecute taint is set at all.
//
// cloud-invariants.ts and absence-invariants.ts check those about Services, load balancers and routes; run-simulation.ts checks 11 to 13.

import { removalWindow } from "../../src/controllers/kernel/removal-kinds.ts";
import { allowedRemovals } from "../../src/controllers/kernel/removal-limit.ts";
import { isLeaving, isReady, isUninitialized } from "../../src/controllers/node-facts.ts";
import type { LifecycleSettings } from "../../src/controllers/node-lifecycle/settings.ts";
import {
  cloudCondition,
  cloudLabelsAnnotation,
  labelPairs,
  networkCondition,
  outOfServiceAnnotation,
  outOfServiceTaint,
  shutdownTaint,
  uninitializedTaint,
} from "../../src/controllers/well-known.ts";
import type { Node, Taint } from "../../src/kube/objects.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/object-store.ts";
import { LeaseTracker, leaseDuration } from "./lease-tracker.ts";
import type { RequestOutcome } from "./network.ts";
import type { Replica } from "./replica.ts";
import type { World } from "./world.ts";

export interface Violation {
  readonly invariant: number;
  readonly at: number;
  readonly text: string;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const ownLabels: readonly string[] = [
  ...Object.values(labelPairs).flatMap(({ current, beta }) => [current, beta]),
  "fake.example/type",
];
const ownTaints: readonly string[] = [uninitializedTaint, shutdownTaint, outOfServiceTaint];
/** The cloud's response may be this old, and the machine may have started since then. */
const oldestAnswer = 150_000;
/** Labels and taints of machines in worlds with --node-labels-from and --node-taints-from. */
export const cloudPrefix = "from-cloud.example/";
const cloudEffects: readonly string[] = ["NoSchedule", "PreferNoSchedule"];
const placeLabels: readonly string[] = [labelPairs.zone.current, labelPairs.region.current];

const isPaused = (node: Node | undefined): boolean =>
  node?.metadata.annotations?.["fairlead.dev/paused"] === "true";

/** The taints before and after a patch of a Node, if it writes them. */
const taintsIn = (body: unknown, node: Node | undefined): readonly unknown[] => {
  if (Array.isArray(body))
    return (body as { readonly path: string; readonly value?: unknown }[])
      .filter(({ path }) => path === "/spec/taints")
      .map(({ value }) => value);
  const { spec = {} } = body as { readonly spec?: { readonly taints?: unknown } };
  return "taints" in spec ? [node?.spec.taints, spec.taints] : [];
};

const changesShutdownTaint = ({ body }: TransportRequest, node: Node | undefined): boolean => {
  if (typeof body !== "string") return false;
  if (body.includes(outOfServiceAnnotation)) return true;
  const [present, wanted] = taintsIn(JSON.parse(body), node).map((taints) =>
    JSON.stringify(taints ?? []).includes(shutdownTaint),
  );
  return present !== wanted;
};

/** Three controllers write to a Node independently; their patches guard against each other. */
const controllerOf = (request: TransportRequest, node: Node | undefined): "lifecycle" | "route" | "node" => {
  if (request.method === "DELETE" || changesShutdownTaint(request, node)) return "lifecycle";
  return String(request.body).includes(networkCondition) ? "route" : "node";
};

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #world: World;
  readonly #settings: LifecycleSettings;
  readonly #leases = new Map<string, LeaseTracker>();
  readonly #inFlight = new Map<string, number>();
  /** Deletions of Nodes that were not announced, with the replica that deleted them. */
  #deletions: { readonly at: number; readonly by: string }[] = [];
  #countsFrom = 0;
  #managed: { readonly at: number; readonly count: number }[] = [];
  readonly #wereTerminating = new Set<string>();
  /** The time since which each machine runs, by id. */
  readonly #runningSince = new Map<string, number>();
  /** The time since which each Node is paused, by uid. */
  readonly #pausedSince = new Map<string, number>();
  /** The number of writes to Nodes by replicas, which must be zero in idle times. */
  nodeWrites = 0;

  constructor(world: World, settings: LifecycleSettings) {
    this.#world = world;
    this.#settings = settings;
    world.server.onWrite((change) => this.#afterWrite(change));
  }

  machineChanged(id: string, status: string): void {
    if (status === "running") this.#runningSince.set(id, this.#world.clock.monotonic());
    if (status === "terminating") this.#wereTerminating.add(id);
  }

  replicaExited(replica: Replica, error: unknown): void {
    this.violated(13, `${replica.name} exited: ${error instanceof Error ? error.stack : String(error)}`);
  }

  /** Checks 9 and 10 when a replica sends a request. Call the returned function with the outcome of the request. */
  requestSent(
    replica: Replica,
    request: TransportRequest,
    to: "kube" | "cloud" = "kube",
  ): (ending: RequestOutcome) => void {
    const { method } = request;
    if (method === "GET") return () => undefined;
    const path = new URL(request.url).pathname;
    const lease = this.#leases.get(replica.name) ?? new LeaseTracker(replica.clock);
    this.#leases.set(replica.name, lease);
    if (path.includes("/leases")) {
      this.#checkRelease(replica, request);
      return lease.renewalSent();
    }
    // The event about a lost Lease is written after the loss; events change nothing.
    const isElection = /\/events(\/cloud-controller-manager\.|$)/.test(path);
    const isRepeated = isElection && method === "PATCH";
    if (isRepeated || (isElection && / (became leader|stopped leading)"/.test(String(request.body))))
      return () => undefined;
    const problem = lease.problem();
    if (problem !== undefined) this.violated(9, `${replica.name} sent ${method} ${path}: ${problem}`);
    // A server that forgets a renewal may give the Lease to another replica too early.
    const isUndone = this.#world.clock.monotonic() - this.#world.renewalUndoneAt < leaseDuration;
    if (!this.#world.holdsLease(replica) && !isUndone) {
      this.violated(
        9,
        `${replica.name} sent ${method} ${path} while ${this.#world.leader?.name} held the Lease`,
      );
    }
    if (to === "cloud") return this.#world.cloudInvariants.requestSent(replica, request);
    const [, kind = "", name] = /\/(nodes|services)\/([^/]+)/.exec(path) ?? [];
    if (name === undefined) return () => undefined;
    // A write to a deleted Service whose name another Service has is rejected because of its uid.
    const [, uid = ""] = /uid"(?:,"value")?:"([^"]+)"/.exec(String(request.body)) ?? [];
    const writer = kind === "nodes" ? controllerOf(request, this.#world.node(name)) : `service ${uid}`;
    const key = `${replica.name} ${writer} ${name}`;
    const count = (this.#inFlight.get(key) ?? 0) + 1;
    this.#inFlight.set(key, count);
    if (count > 1) this.violated(10, `${key}: ${count} writes in flight at once`);
    return () => {
      this.#inFlight.set(key, (this.#inFlight.get(key) ?? 1) - 1);
    };
  }

  /** Checks 20: only a replica that was asked to stop, or whose lists fail for minutes, releases its Lease. */
  #checkRelease({ name, isTerminated, wasBlind }: Replica, { body }: TransportRequest): void {
    if (isTerminated || wasBlind || typeof body !== "string" || !body.includes('"holderIdentity":""')) return;
    this.violated(20, `${name} released its Lease`);
  }

  #afterWrite(change: StoredChange): void {
    if (change.storage !== "nodes") return;
    const now = this.#world.clock.monotonic();
    this.#managed = [
      ...this.#managed.filter(({ at }) => at > now - 600_000),
      { at: now, count: this.#countManaged() + (change.type === "DELETED" ? 1 : 0) },
    ].slice(-2000);
    const before = change.before as unknown as Node | undefined;
    const { uid } = change.object.metadata;
    if (isPaused(change.object as unknown as Node) && !isPaused(before)) this.#pausedSince.set(uid, now);
    const { writer } = this.#world.history;
    if (writer === undefined) return;
    this.nodeWrites += 1;
    if (before === undefined) this.violated(4, `${writer} created the Node ${change.object.metadata.name}`);
    else if (change.type === "DELETED") this.#checkDeletion(before, writer);
    else this.#checkChange(before, change.object as unknown as Node, writer);
  }

  #countManaged(): number {
    return this.#world.nodes().filter(({ spec }) => (spec.providerID ?? "fake://").startsWith("fake://"))
      .length;
  }

  /** Records that an operator released the objects that the mass limit holds: their deletions may still follow. */
  released(): void {
    this.#countsFrom = this.#world.clock.monotonic() + 600_000;
  }

  violated(invariant: number, text: string): void {
    if (this.#world.isIgnored(invariant)) return;
    const at = this.#world.clock.monotonic();
    this.#world.history.log(`VIOLATION of invariant ${invariant}: ${text}`);
    this.violations.push({ invariant, at, text });
  }

  /** Checks 1 and 2. */
  #checkDeletion(node: Node, writer: string): void {
    const { cloud, clock } = this.#world;
    const { name } = node.metadata;
    const id = node.spec.providerID;
    const key = /^fake:\/\/(\d+)$/.exec(id ?? "")?.[1];
    const hasID = id !== undefined && id !== "";
    if (hasID && key === undefined)
      this.violated(1, `${name} with the foreign id ${id} was deleted by ${writer}`);
    const exists = hasID
      ? key !== undefined && cloud.machines.has(key)
      : cloud.machines.list().some((machine) => machine.name === name);
    if (exists)
      this.violated(1, `${name} (${id ?? "no id"}) was deleted by ${writer}, but its machine exists`);
    if (isReady(node)) this.violated(2, `${name} was deleted by ${writer} while Ready`);
    const age = clock.now() - Date.parse(node.metadata.creationTimestamp ?? "");
    if (!hasID && age < this.#settings.minAge) {
      this.violated(2, `${name} without id was deleted by ${writer} when it was ${age / 1000} s old`);
    }
    const isAnnounced =
      isLeaving(node) ||
      node.metadata.annotations?.["fairlead.dev/node-deletion"] === "confirmed" ||
      (key !== undefined && this.#wereTerminating.has(key));
    if (node.metadata.annotations?.["fairlead.dev/node-deletion"] === "never") {
      this.violated(2, `${name} was deleted by ${writer} although its annotation says never`);
    }
    if (!isAnnounced && clock.monotonic() > this.#countsFrom) this.#countDeletion(name, writer);
  }

  #countDeletion(name: string, writer: string): void {
    const { removalLimit } = this.#settings;
    if (removalLimit === "off") return;
    const now = this.#world.clock.monotonic();
    this.#deletions = [
      ...this.#deletions.filter(({ at }) => at > now - removalWindow),
      { at: now, by: writer },
    ];
    const recent = this.#deletions.length;
    const managed = Math.max(...this.#managed.map(({ count }) => count)) + recent;
    const allowed = allowedRemovals(removalLimit, managed);
    if (recent > allowed) {
      const by = [...new Set(this.#deletions.map((each) => each.by))].join(", ");
      this.violated(
        2,
        `${name}: ${recent} unannounced deletions in 10 min by ${by}; ${allowed} of ${managed} are allowed`,
      );
    }
  }

  /** Checks 3 and 4. */
  #checkChange(before: Node, after: Node, writer: string): void {
    const { name } = after.metadata;
    const report = (invariant: number, text: string) =>
      this.violated(invariant, `${writer} on ${name}: ${text}`);
    const id = after.spec.providerID ?? "";
    const hadID = (before.spec.providerID ?? "") !== "";
    if (before.metadata.uid !== after.metadata.uid) report(4, "another uid");
    if (hadID && !before.spec.providerID?.startsWith("fake://")) report(4, "wrote to a foreign Node");
    if (hadID && before.spec.providerID !== id)
      report(4, `provider id ${before.spec.providerID} became ${id}`);
    const pausedSince = this.#pausedSince.get(before.metadata.uid) ?? Number.NEGATIVE_INFINITY;
    if (isPaused(before) && this.#world.absence.known.mustKnow(pausedSince))
      report(4, "wrote to a paused Node");
    const losesTaint = isUninitialized(before) && !isUninitialized(after);
    if (!hadID && id !== "" && !losesTaint) report(3, "set the provider id without removing the taint");
    if (!hadID && id !== "") this.#checkMachine(after, id, report);
    if (losesTaint) this.#checkInitialized(after, report);
    this.#checkEvictions(before, after, report);
    this.#checkForeign(before, after, report);
  }

  /** Checks 30. */
  #checkEvictions(before: Node, after: Node, report: (invariant: number, text: string) => void): void {
    const evicting = ({ spec }: Node) => (spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");
    const added = evicting(after).filter((taint) => !evicting(before).some((one) => same(one, taint)));
    if (added.length === 0) return;
    if (!this.#world.tellsStops) report(30, "set a NoExecute taint");
    if (isReady(after)) report(30, "evicted the pods of a Ready Node");
    const { cloud, clock } = this.#world;
    const id = after.spec.providerID?.slice("fake://".length) ?? "";
    const since = this.#runningSince.get(id) ?? Number.NEGATIVE_INFINITY;
    const runs = cloud.machines.get(id)?.status === "running" && clock.monotonic() - since > oldestAnswer;
    if (runs) report(30, `evicted its pods, but machine ${id} runs`);
  }

  /** The provider id never changes, so it must be that of the Node's machine, if one exists. */
  #checkMachine(node: Node, id: string, report: (invariant: number, text: string) => void): void {
    const { name } = node.metadata;
    const ids = this.#world.cloud.machines
      .list()
      .flatMap((each) => (each.name === name ? `fake://${each.id}` : []));
    if (ids.length > 0 && !ids.includes(id)) report(4, `got ${id}, but its machine has ${ids.join(", ")}`);
  }

  #checkInitialized(after: Node, report: (invariant: number, text: string) => void): void {
    const { name } = after.metadata;
    if ((after.spec.providerID ?? "") === "") report(3, "removed the taint without a provider id");
    const kinds = (after.status.addresses ?? []).map(({ type }) => type);
    if (!kinds.includes("InternalIP")) report(3, "removed the taint before the addresses were set");
    for (const key of [labelPairs.type.current, labelPairs.zone.current, labelPairs.region.current]) {
      if (after.metadata.labels?.[key] === undefined)
        report(3, `removed the taint of ${name} without the label ${key}`);
    }
  }

  #checkForeign(before: Node, after: Node, report: (invariant: number, text: string) => void): void {
    const labels = ({ metadata }: Node) =>
      Object.entries(metadata.labels ?? {})
        .filter(([key]) => !ownLabels.includes(key) && !key.startsWith(cloudPrefix))
        .sort();
    if (!same(labels(before), labels(after))) report(4, "foreign labels changed");
    for (const key of placeLabels) {
      const was = before.metadata.labels?.[key];
      if (was !== undefined && was !== after.metadata.labels?.[key] && !isUninitialized(before)) {
        report(4, `the label ${key} was changed`);
      }
    }
    const isOfCloud = ({ key, effect }: Taint) =>
      key.startsWith(cloudPrefix) && cloudEffects.includes(effect);
    const taints = ({ spec }: Node) =>
      (spec.taints ?? []).filter((taint) => !ownTaints.includes(taint.key) && !isOfCloud(taint));
    if (!same(taints(before), taints(after))) report(4, "foreign taints changed");
    const conditions = ({ status }: Node) =>
      (status.conditions ?? []).filter(({ type }) => type !== cloudCondition && type !== networkCondition);
    if (!same(conditions(before), conditions(after))) report(4, "foreign conditions changed");
    if (!same(before.metadata.finalizers, after.metadata.finalizers)) report(4, "finalizers changed");
    const annotations = ({ metadata: { annotations: all = {} } }: Node) =>
      Object.entries(all)
        .filter(([key]) => key !== outOfServiceAnnotation && key !== cloudLabelsAnnotation)
        .sort();
    if (!same(annotations(before), annotations(after))) report(4, "annotations changed");
    const rest = ({ spec: { taints: _, providerID: __, ...others } }: Node) => others;
    if (!same(rest(before), rest(after))) report(4, "other deps of the spec changed");
  }
}
