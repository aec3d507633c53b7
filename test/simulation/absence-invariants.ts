// Checks the invariants about absence whenever the simulated cloud has handled a request, against the true state of the
// cloud and the API server.
//
// 18  A load balancer or route that exists and is wanted is never created again and never removed.
// 19  At most max(2, 20 %) of the load balancers, and of the routes, are removed or created again in 10 minutes because
//     something was absent. Restarts, hand-overs and reloads do not reset this, only a release by an operator does.

import type { SimulatedBalancer } from "../../providers/fake/simulator/balancers.ts";
import type { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import type { SimulatedRoute } from "../../providers/fake/simulator/routes.ts";
import { wantsLoadBalancer } from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/object-store.ts";
import { AbsenceCount } from "./absence-count.ts";
import { isMarked } from "./cloud-invariants.ts";
import { KnownChanges } from "./known-changes.ts";

type Report = (invariant: number, text: string) => void;

export interface CloudState {
  readonly balancers: readonly SimulatedBalancer[];
  readonly routes: readonly SimulatedRoute[];
}

/** The part of a request that the checks need. */
export interface CloudChange {
  readonly method: string;
  readonly path: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly destination?: string;
  readonly machine?: string;
}

const never = Number.NEGATIVE_INFINITY;

export const stateOf = (cloud: FakeCloud): CloudState => ({
  balancers: cloud.balancers.list(),
  routes: cloud.routes.list(),
});

export const changeOf = ({ method, url, body }: TransportRequest): CloudChange => {
  const { labels = {}, ...rest }: Partial<CloudChange> =
    typeof body === "string" && body !== "" ? JSON.parse(body) : {};
  return { ...rest, labels, method, path: new URL(url).pathname };
};

const ownerOf = ({ labels }: { readonly labels: Readonly<Record<string, string>> }): string =>
  isMarked(labels) ? (labels["owner-uid"] ?? "") : "";

const hasAddress = (object: StoredChange["before"]): boolean =>
  ((object as unknown as Service | undefined)?.status?.loadBalancer?.ingress ?? []).length > 0;

export class AbsenceInvariants {
  readonly #server: ApiServer;
  readonly #cloud: FakeCloud;
  readonly #clock: Clock;
  readonly #report: Report;
  /** The API server changes that the leader must know. */
  readonly known: KnownChanges;
  /** The time since which each Service needs a load balancer, by uid. */
  readonly #wantedSince = new Map<string, number>();
  /** Uids of Services that needed no load balancer when they were last seen. */
  readonly #needsNone = new Set<string>();
  /** Uids of Services, and names of Nodes, that vanished without a deletion. */
  readonly #vanished = new Set<string>();
  /** When they returned. */
  readonly #returnedAt = new Map<string, number>();
  /** Owners and destinations that were lost in the cloud although no manager removed them. */
  readonly #lost = new Set<string>();
  /** The time since which each range leads to its machine, by Node: "range machine". */
  readonly #wantedRoutes = new Map<string, { readonly route: string; readonly since: number }>();
  /** Destinations whose route is older than their Node. */
  readonly #inherited = new Set<string>();
  /** The time when a manager last removed a route, by destination. */
  readonly #removedAt = new Map<string, number>();
  /** Whether the cloud created the route to this destination after it was already proved that it would not. */
  cameLate: (destination: string) => boolean = () => false;
  readonly #balancerCount: AbsenceCount;
  readonly #routeCount: AbsenceCount;

  /** `sender`: the replica whose request is being handled. */
  constructor(
    server: ApiServer,
    cloud: FakeCloud,
    report: Report,
    sender: () => string | undefined = () => undefined,
  ) {
    const { clock } = cloud;
    this.#server = server;
    this.#cloud = cloud;
    this.#clock = clock;
    this.#report = report;
    this.known = new KnownChanges(server, clock, sender);
    this.#balancerCount = new AbsenceCount("load balancers", clock, (text) => report(19, text));
    this.#routeCount = new AbsenceCount("routes", clock, (text) => report(19, text));
    server.onWrite((change) => this.#afterWrite(change));
  }

  /** Records that the object is removed from the API server without a deletion, as when an older etcd is restored. */
  vanishes(id: string): void {
    this.#vanished.add(id);
  }

  hasVanished(id: string): boolean {
    return this.#vanished.has(id);
  }

  returned(id: string): void {
    this.#vanished.delete(id);
    this.#returnedAt.set(id, this.#clock.monotonic());
  }

  /** Records that the owner's load balancer, or the route to this destination, was removed in the cloud by hand. */
  lost(ownerOrDestination: string): void {
    // The next Node with this range gets a new route.
    const isUnused = ownerOrDestination.includes("/") && !this.#isWanted(ownerOrDestination);
    if (!isUnused) this.#lost.add(ownerOrDestination);
  }

  #isWanted(destination: string): boolean {
    return [...this.#wantedRoutes.values()].some(({ route }) => route.startsWith(`${destination} `));
  }

  /** Records that an operator released the objects that the mass limits hold. */
  released(): void {
    this.#balancerCount.released();
    this.#routeCount.released();
  }

  cloudHandled(change: CloudChange, before: CloudState, after: CloudState): void {
    const { method, path } = change;
    this.#balancerCount.observe(before.balancers.length);
    // A quota may be the reason why Nodes have no route yet.
    this.#routeCount.observe(Math.max(before.routes.length, this.#wantedRoutes.size));
    if (method === "POST" && path.endsWith("/balancers")) this.#checkNewBalancer(ownerOf(change), before);
    if (method === "POST" && path.endsWith("/routes")) this.#checkNewRoute(change, before);
    if (method !== "DELETE") return;
    const isLeft = new Set([...after.balancers, ...after.routes].map(({ id }) => id));
    for (const one of before.balancers) if (!isLeft.has(one.id)) this.#checkRemovedBalancer(one, after);
    for (const one of before.routes) if (!isLeft.has(one.id)) this.checkRemovedRoute(one);
  }

  /** Records that a manager learns that this route's removal has ended. */
  removalEnded(destination: string): void {
    this.#removedAt.set(destination, this.#clock.monotonic());
  }

  /**
   * Whether the route may be created again immediately: its Node has lost the former route, has just got the range, or is new
   * to the leader.
   */
  mayRepeat(destination: string, since: number): boolean {
    const wanted = [...this.#wantedRoutes.values()].find(({ route }) => route.startsWith(`${destination} `));
    if (this.#isReplacement(destination) || this.#isUnknown(destination)) return true;
    return wanted === undefined || wanted.since > since;
  }

  /** A replacement may be tried again immediately, because its Node has no route in the meantime. */
  #isReplacement(destination: string): boolean {
    return this.#clock.monotonic() - (this.#removedAt.get(destination) ?? never) < 60_000;
  }

  #checkNewBalancer(owner: string, before: CloudState): void {
    const existing = before.balancers.filter((one) => ownerOf(one) === owner && one.status !== "failed");
    if (existing.length > 0) {
      this.#report(18, `a load balancer was created for ${owner}, which has ${existing.map(({ id }) => id)}`);
    }
    if (this.#lost.delete(owner)) this.#balancerCount.add(owner, `${owner} got a new one`);
  }

  #checkNewRoute({ destination = "", machine = "" }: CloudChange, before: CloudState): void {
    const exists = before.routes.some((one) => one.destination === destination && one.machine === machine);
    // A new Node gets its route immediately, and listings may lack the route that existed before the Node.
    const isNew = this.#inherited.has(destination) || this.#isUnknown(destination);
    if (exists && !this.#isReplacement(destination) && !isNew && !this.cameLate(destination)) {
      this.#report(18, `the route ${destination} to ${machine} was created although it exists`);
    }
    if (this.#lost.delete(destination)) this.#routeCount.add(destination, `${destination} was created again`);
  }

  /** Whether the Node does not show its route, and returned after this leader began, so that it is new to the leader. */
  #isUnknown(destination: string): boolean {
    const nodes = this.#server.store.list("nodes") as unknown as readonly Node[];
    const node = nodes.find(({ spec }) => spec.podCIDR === destination);
    const isShown = node?.status.conditions?.some(({ reason }) => reason === "RouteCreated") ?? false;
    const returnedAt = this.#returnedAt.get(node?.metadata.name ?? "") ?? never;
    return !isShown && returnedAt >= this.known.holderSince;
  }

  #checkRemovedBalancer(balancer: SimulatedBalancer, after: CloudState): void {
    const owner = ownerOf(balancer);
    // cloud-invariants.ts checks the objects of others.
    if (owner === "") return;
    // The load balancer is removed because of a visible change, even if its Service has vanished since.
    if (this.#needsNone.has(owner)) return;
    const service = this.#services().find(({ metadata }) => metadata.uid === owner);
    const isOnlyOne = !after.balancers.some((one) => ownerOf(one) === owner);
    const isWanted = this.known.mustKnow(this.#wantedSince.get(owner) ?? Number.POSITIVE_INFINITY);
    const isWrong = service !== undefined && isWanted && isOnlyOne && balancer.status !== "failed";
    if (this.#vanished.has(owner) || (isWrong && this.#hasReturned(owner))) {
      this.#balancerCount.add(owner, `${balancer.id} of the vanished ${owner}`);
    } else if (isWrong) {
      this.#report(18, `${balancer.id} of ${service.metadata.name} was removed although it is wanted`);
    }
  }

  /** A manager may not know yet that the object is back. */
  #hasReturned(id: string): boolean {
    const at = this.#returnedAt.get(id);
    return at !== undefined && !this.known.mustKnow(at);
  }

  /** Checks a removed route. Call this when the cloud has removed the route, or accepts its removal. */
  checkRemovedRoute({ destination, machine, id }: SimulatedRoute): void {
    const now = this.#clock.monotonic();
    this.#removedAt.set(destination, now);
    this.#inherited.delete(destination);
    // The machine is really gone, so the route leads nowhere.
    if (!this.#cloud.machines.has(machine)) return;
    // In this case, the Node was expected to leave.
    const isTerminating =
      this.#cloud.machines.list().find(({ id }) => id === machine)?.status === "terminating";
    for (const [node, { route, since }] of this.#wantedRoutes) {
      if (route !== `${destination} ${machine}`) continue;
      const isWrong = this.known.mustKnow(since);
      if (this.#vanished.has(node) || (isWrong && this.#hasReturned(node))) {
        if (!isTerminating) this.#routeCount.add(destination, `${destination} of the vanished ${node}`);
      } else if (isWrong) {
        this.#report(18, `the route ${id} of ${node} was removed although it is wanted`);
      }
    }
  }

  #services(): readonly Service[] {
    return this.#server.store.list("services") as unknown as readonly Service[];
  }

  #afterWrite({ storage, type, object, before }: StoredChange): void {
    const { uid, name, deletionTimestamp } = object.metadata;
    if (storage === "services") {
      const isWanted =
        wantsLoadBalancer(object as unknown as Service, servesWithoutClass) &&
        deletionTimestamp === undefined;
      if (this.#vanished.has(uid) && type === "DELETED") return;
      if (isWanted && type !== "DELETED") this.#needsNone.delete(uid);
      else this.#needsNone.add(uid);
      if (isWanted && !this.#wantedSince.has(uid)) this.#wantedSince.set(uid, this.#clock.monotonic());
      if (!isWanted || type === "DELETED") {
        this.#wantedSince.delete(uid);
        // The load balancer would have been removed at this time, so a later one replaces nothing.
        this.#lost.delete(uid);
      }
      // After a hand-over, only the address shows that a load balancer existed. A user who removes the address removes the
      // evidence.
      if (type === "MODIFIED" && hasAddress(before) && !hasAddress(object)) this.#lost.delete(uid);
    }
    if (storage === "nodes") this.#followNode(type, name, object as unknown as Node);
  }

  #followNode(type: StoredChange["type"], name: string, { spec }: Node): void {
    if (this.#vanished.has(name) && type === "DELETED") return;
    // The kubelet has registered the Node again, so a later deletion is a real one.
    if (type === "ADDED") this.#vanished.delete(name);
    const machine = /^fake:\/\/(\d+)$/.exec(spec.providerID ?? "")?.[1];
    const route = `${spec.podCIDR} ${machine}`;
    // The next Node with this range gets a new route.
    if (type === "DELETED") this.#lost.delete(spec.podCIDR ?? "");
    if (type === "DELETED" || machine === undefined) this.#wantedRoutes.delete(name);
    else if (this.#wantedRoutes.get(name)?.route !== route) {
      this.#wantedRoutes.set(name, { route, since: this.#clock.monotonic() });
      const { podCIDR = "" } = spec;
      if (this.#hasRoute(podCIDR, machine)) this.#inherited.add(podCIDR);
    }
  }

  #hasRoute(destination: string, machine: string): boolean {
    return this.#cloud.routes
      .list()
      .some((one) => one.destination === destination && one.machine === machine);
  }
}
