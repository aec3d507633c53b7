// Checks the invariants about Services, load balancers and routes: after every change of the simulated cloud, after every write
// of a replica to a Service, and whenever a replica sends a change to the cloud.
//
//  4  Only Fairlead's own finalizer, status and conditions of a Service change.
//  5  The finalizer is on a Service before its first cloud change, and stays until the cloud has nothing left for it.
//  7  Cloud objects without this cluster's marks are never changed or removed, and new ones get the marks.
//  8  Routes outside the cluster CIDR are never touched.
// 10  There is at most one change per load balancer, route, volume or snapshot in flight.
// 24  No load balancer is created or changed for what a Service was, if the leader must know what it is.

import {
  hasFinalizer,
  isBeingDeleted,
  wantsLoadBalancer,
  warningCondition,
} from "../../src/controllers/service/predicates.ts";
import { finalizer, servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { cloudCondition } from "../../src/controllers/well-known.ts";
import { cidr, cidrContains } from "../../src/core/cidr.ts";
import type { Service } from "../../src/kube/objects.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/object-store.ts";
import type { RequestOutcome } from "./network.ts";
import { clusterCIDR } from "./pod-ranges.ts";
import type { Replica } from "./replica.ts";
import type { World } from "./world.ts";

type Report = (invariant: number, text: string) => void;

/** The uid of a cluster that has the same name as this one. */
export const otherClusterUID = "uid-of-another-cluster";

/** Whether the object has the marks of this cluster. */
export const isMarked = (labels: Readonly<Record<string, string>>): boolean =>
  labels["managed-by"] === "fairlead" &&
  labels["cluster"] === "kubernetes" &&
  labels["cluster-uid"] !== otherClusterUID;

type Labels = Readonly<Record<string, string>>;

/** Several owners if the load balancer is shared. */
export const ownersOf = ({ "owner-uid": uids = "" }: Labels): readonly string[] =>
  uids.split("+").filter((uid) => uid !== "");

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export class CloudInvariants {
  readonly #world: World;
  readonly #report: Report;
  readonly #inFlight = new Map<string, number>();
  /** Objects without the marks of this cluster, in the state in which their owners left them. */
  #foreign: string;
  /** The number of writes to Services by replicas, and of successful changes of the cloud. */
  serviceWrites = 0;
  changes = 0;

  constructor(world: World, report: Report) {
    this.#world = world;
    this.#report = report;
    const { balancers, routes } = world.cloud;
    const labels = { cluster: "another" };
    balancers.create({ name: "not-ours", labels, targets: ["1"] });
    routes.create({ destination: "10.244.250.0/24", machine: "1", labels });
    routes.create({ destination: "172.16.0.0/24", machine: "1", labels: { cluster: "kubernetes" } });
    this.#foreign = this.#foreignObjects();
    world.server.onWrite((change) => this.#afterWrite(change));
  }

  /** Records that the owners of objects without the marks of this cluster changed them. */
  othersChanged(): void {
    this.#foreign = this.#foreignObjects();
  }

  /** Checks 10 when a replica sends a change. Call the returned function when the request has ended. */
  requestSent(replica: Replica, request: TransportRequest): (ending: RequestOutcome) => void {
    const keys = this.#targetsOf(request).map((target) => `${replica.name} ${target}`);
    for (const key of keys) {
      const count = (this.#inFlight.get(key) ?? 0) + 1;
      this.#inFlight.set(key, count);
      if (count > 1) this.#report(10, `${key}: ${count} cloud changes in flight`);
    }
    return () => {
      for (const key of keys) this.#inFlight.set(key, (this.#inFlight.get(key) ?? 1) - 1);
    };
  }

  /** Checks 5, 7 and 8 after the cloud has handled a request. */
  cloudHandled(request: TransportRequest): void {
    const { method } = request;
    const isDone = (this.#world.cloud.seen.at(-1)?.status ?? 500) < 300;
    if (method === "GET" || !isDone) return;
    this.changes += 1;
    const path = new URL(request.url).pathname;
    if (this.#foreignObjects() !== this.#foreign)
      this.#report(7, `${method} ${path} changed an object without the cluster's marks`);
    if (method === "DELETE") return;
    const wanted = bodyOf(request);
    if (path.includes("/balancers")) this.#checkListeners(path, wanted);
    if (method !== "POST") return;
    if (path.endsWith("/balancers")) this.#checkNewBalancer(wanted);
    else if (path.endsWith("/routes")) this.#checkNewRoute(wanted);
  }

  #checkNewBalancer({ labels = {}, name }: Body): void {
    const owners = ownersOf(labels);
    if (labels["cluster"] !== "kubernetes" || labels["managed-by"] !== "fairlead" || owners.length === 0) {
      this.#report(7, `the balancer ${name} was created without the cluster's marks`);
    }
    const { users, absence } = this.#world;
    for (const uid of owners) {
      const service = users.services().find(({ metadata }) => metadata.uid === uid);
      if (users.finalizersRemoved.has(uid) || absence.hasVanished(uid)) continue;
      if (service === undefined) this.#report(5, `a balancer was created for the deleted Service ${uid}`);
      else if (!hasFinalizer(service, servesWithoutClass)) {
        this.#report(5, `a balancer was created for ${service.metadata.name} before its finalizer`);
      }
    }
  }

  /** Checks 24. An outdated cache would restore old ports, or create a load balancer for a Service that needs none any more. */
  #checkListeners(path: string, { labels, listeners, name = path }: Body): void {
    const { users, absence, cloud } = this.#world;
    const known = cloud.balancers.list().find(({ id }) => path.endsWith(`/${id}`))?.labels;
    const owners = ownersOf(labels ?? known ?? {});
    const services = users.services().filter(({ metadata }) => owners.includes(metadata.uid));
    const areKnown =
      services.length === owners.length && services.every((one) => absence.known.mustKnowWish(one));
    if (owners.length === 0 || listeners === undefined || !areKnown) return;
    const wanted = services.filter(
      (service) => wantsLoadBalancer(service, servesWithoutClass) && !isBeingDeleted(service),
    );
    const ports = wanted.flatMap(({ spec }) => (spec.ports ?? []).map(({ port }) => port));
    const asked = listeners.map(({ port }) => port);
    if (!same(asked.toSorted(), ports.toSorted()))
      this.#report(24, `${name} got the ports ${asked}, but its Services have ${ports}`);
  }

  #checkNewRoute({ destination = "", labels = {} }: Body): void {
    if (labels["cluster"] !== "kubernetes")
      this.#report(7, `the route ${destination} was created without the cluster's marks`);
    if (!cidrContains(cidr(clusterCIDR), cidr(destination))) {
      this.#report(8, `the route ${destination} hiddenMachines outside the cluster's ranges`);
    }
  }

  #afterWrite({ storage, type, object, before: past }: StoredChange): void {
    const { writer } = this.#world.history;
    if (storage !== "services" || writer === undefined) return;
    this.serviceWrites += 1;
    const before = past as unknown as Service | undefined;
    const after = object as unknown as Service;
    const report: Report = (invariant, text) =>
      this.#report(invariant, `${writer} on ${after.metadata.name}: ${text}`);
    if (before === undefined) {
      report(4, "created a Service");
      return;
    }
    const isGone = type === "DELETED";
    if (hasFinalizer(before, servesWithoutClass) && (isGone || !hasFinalizer(after, servesWithoutClass)))
      this.#checkRelease(before, report);
    if (!isGone) checkForeign(before, after, report);
  }

  #checkRelease({ metadata: { uid } }: Service, report: Report): void {
    const left = this.#world.cloud.balancers
      .list()
      .filter(({ labels }) => isMarked(labels) && ownersOf(labels).includes(uid));
    if (left.length > 0)
      report(5, `removed the finalizer while ${left.map(({ id }) => id).join(", ")} still existed`);
  }

  #foreignObjects(): string {
    const { balancers, routes } = this.#world.cloud;
    const isInside = (destination: string) => cidrContains(cidr(clusterCIDR), cidr(destination));
    return JSON.stringify([
      // The status changes without a request after the creation.
      balancers.list().flatMap(({ status: _, ...one }) => (isMarked(one.labels) ? [] : [one])),
      routes
        .list()
        .filter(({ destination, labels }) => labels["cluster"] !== "kubernetes" || !isInside(destination)),
    ]);
  }

  /** The route, or the owners of the load balancer, before and after the request. */
  #targetsOf(request: TransportRequest): readonly string[] {
    const [, kind = "", id] = new URL(request.url).pathname.replace(/^\/v1/, "").split("/");
    const { balancers, routes } = this.#world.cloud;
    const { labels = {}, destination } = bodyOf(request);
    if (kind === "routes") {
      return [`route ${destination ?? routes.list().find((one) => one.id === id)?.destination ?? id}`];
    }
    if (kind === "volumes" || kind === "snapshots") return [`${kind} ${id ?? bodyOf(request).name}`];
    const known = balancers.list().find((one) => one.id === id)?.labels ?? {};
    const owners = new Set([...ownersOf(known), ...ownersOf(labels)]);
    return owners.size === 0 ? [`balancer ${id}`] : [...owners].map((uid) => `balancer of ${uid}`);
  }
}

interface Body {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly destination?: string;
  readonly listeners?: readonly { readonly port: number }[];
}

const bodyOf = ({ body }: TransportRequest): Body =>
  typeof body === "string" && body !== "" ? (JSON.parse(body) as Body) : {};

/** Checks 4. */
const checkForeign = (before: Service, after: Service, report: Report): void => {
  const finalizers = ({ metadata }: Service) =>
    (metadata.finalizers ?? []).filter((each) => each !== finalizer);
  const conditions = ({ status }: Service) =>
    (status.conditions ?? []).filter(({ type }) => type !== cloudCondition && type !== warningCondition);
  if (before.metadata.uid !== after.metadata.uid) report(4, "another uid");
  if (!same(finalizers(before), finalizers(after))) report(4, "foreign finalizers changed");
  if (!same(before.metadata.annotations, after.metadata.annotations)) report(4, "annotations changed");
  if (!same(before.metadata.labels, after.metadata.labels)) report(4, "labels changed");
  if (!same(conditions(before), conditions(after))) report(4, "foreign conditions changed");
  if (!same(before.spec, after.spec)) report(4, "the spec changed");
};
