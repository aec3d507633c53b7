// The invariants about Services, balancers and routes as code: checked at every change that reaches the simulated cloud,
// at every write of ours to a Service, and whenever a replica hands a change of the cloud to the network.

import { finalizer, hasFinalizer, warningCondition } from "../../src/controllers/service/predicates.ts";
import { cloudCondition } from "../../src/controllers/well-known.ts";
import { cidr, cidrContains } from "../../src/core/cidr.ts";
import type { Service } from "../../src/kube/objects.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/store.ts";
import { clusterCIDR } from "./pod-ranges.ts";
import type { Replica } from "./replica.ts";
import type { Ending } from "./wire.ts";
import type { World } from "./world.ts";

type Broken = (invariant: number, text: string) => void;

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export class CloudInvariants {
  readonly #world: World;
  readonly #broken: Broken;
  readonly #inFlight = new Map<string, number>();
  /** What is not ours, as it was at the beginning. */
  readonly #foreign: string;
  /** Writes of ours to Services, and changes of the cloud that it carried out. */
  serviceWrites = 0;
  changes = 0;

  constructor(world: World, broken: Broken) {
    this.#world = world;
    this.#broken = broken;
    const { balancers, routes } = world.cloud;
    const labels = { cluster: "another" };
    balancers.create({ name: "not-ours", labels, targets: ["1"] });
    routes.create({ destination: "10.244.250.0/24", machine: "1", labels });
    routes.create({ destination: "172.16.0.0/24", machine: "1", labels: { cluster: "kubernetes" } });
    this.#foreign = this.#foreignNow();
    world.server.onWrite((change) => this.#afterWrite(change));
  }

  /** 10: of one balancer, or one route, there is one change under way. */
  handedOver(replica: Replica, request: TransportRequest): (ending: Ending) => void {
    const key = `${replica.name} ${this.#aboutWhat(request)}`;
    const count = (this.#inFlight.get(key) ?? 0) + 1;
    this.#inFlight.set(key, count);
    if (count > 1) this.#broken(10, `${key}: ${count} changes of the cloud in flight at once`);
    return () => {
      this.#inFlight.set(key, (this.#inFlight.get(key) ?? 1) - 1);
    };
  }

  /** 5, 7 and 8, directly after the cloud has dealt with a request. */
  carriedOut(request: TransportRequest): void {
    const { method } = request;
    const isDone = (this.#world.cloud.seen.at(-1)?.status ?? 500) < 300;
    if (method === "GET" || !isDone) return;
    this.changes += 1;
    const path = new URL(request.url).pathname;
    if (this.#foreignNow() !== this.#foreign) this.#broken(7, `${method} ${path} touched what is not ours`);
    if (method !== "POST") return;
    const wanted = bodyOf(request);
    if (path.endsWith("/balancers")) this.#balancerMade(wanted);
    else this.#routeMade(wanted);
  }

  #balancerMade({ labels = {}, name }: Body): void {
    const uid = labels["owner-uid"] ?? "";
    if (labels["cluster"] !== "kubernetes" || labels["managed-by"] !== "fairlead" || uid === "") {
      this.#broken(7, `the balancer ${name} was made without our mark`);
    }
    const { people } = this.#world;
    const service = people.services().find(({ metadata }) => metadata.uid === uid);
    if (people.stripped.has(uid)) return;
    if (service === undefined) this.#broken(5, `a balancer was made for ${uid}, which is gone`);
    else if (!hasFinalizer(service)) {
      this.#broken(5, `a balancer was made for ${service.metadata.name} before its finalizer`);
    }
  }

  #routeMade({ destination = "", labels = {} }: Body): void {
    if (labels["cluster"] !== "kubernetes")
      this.#broken(7, `the route ${destination} was made without our mark`);
    if (!cidrContains(cidr(clusterCIDR), cidr(destination))) {
      this.#broken(8, `the route ${destination} lies outside the cluster's ranges`);
    }
  }

  #afterWrite({ storage, type, object, before: past }: StoredChange): void {
    const { writer } = this.#world.script;
    if (storage !== "services" || writer === undefined) return;
    this.serviceWrites += 1;
    const before = past as unknown as Service | undefined;
    const after = object as unknown as Service;
    const wrong: Broken = (invariant, text) =>
      this.#broken(invariant, `${writer} on ${after.metadata.name}: ${text}`);
    if (before === undefined) {
      wrong(4, "made a Service");
      return;
    }
    const isGone = type === "DELETED";
    if (hasFinalizer(before) && (isGone || !hasFinalizer(after))) this.#letGo(before, wrong);
    if (!isGone) checkForeign(before, after, wrong);
  }

  #letGo({ metadata: { uid } }: Service, wrong: Broken): void {
    const left = this.#world.cloud.balancers.list().filter(({ labels }) => labels["owner-uid"] === uid);
    if (left.length > 0)
      wrong(5, `the finalizer left while ${left.map(({ id }) => id).join(", ")} was there`);
  }

  #foreignNow(): string {
    const { balancers, routes } = this.#world.cloud;
    const isInside = (destination: string) => cidrContains(cidr(clusterCIDR), cidr(destination));
    return JSON.stringify([
      // Its status is that it was just made.
      balancers
        .list()
        .flatMap(({ status: _, ...one }) => (one.labels["managed-by"] === "fairlead" ? [] : [one])),
      routes
        .list()
        .filter(({ destination, labels }) => labels["cluster"] !== "kubernetes" || !isInside(destination)),
    ]);
  }

  #aboutWhat(request: TransportRequest): string {
    const [, kind = "", id] = new URL(request.url).pathname.replace(/^\/v1/, "").split("/");
    const { balancers, routes } = this.#world.cloud;
    const { labels, destination } = id === undefined ? bodyOf(request) : ({} as Body);
    if (kind === "routes") {
      return `route ${destination ?? routes.list().find((one) => one.id === id)?.destination ?? id}`;
    }
    const known = balancers.list().find((one) => one.id === id)?.labels;
    return `balancer of ${(labels ?? known)?.["owner-uid"] ?? id}`;
  }
}

interface Body {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly destination?: string;
}

const bodyOf = ({ body }: TransportRequest): Body =>
  typeof body === "string" && body !== "" ? (JSON.parse(body) as Body) : {};

/** 4, for Services. */
const checkForeign = (before: Service, after: Service, wrong: Broken): void => {
  const finalizers = ({ metadata }: Service) =>
    (metadata.finalizers ?? []).filter((each) => each !== finalizer);
  const conditions = ({ status }: Service) =>
    (status.conditions ?? []).filter(({ type }) => type !== cloudCondition && type !== warningCondition);
  if (before.metadata.uid !== after.metadata.uid) wrong(4, "another uid");
  if (!same(finalizers(before), finalizers(after))) wrong(4, "foreign finalizers changed");
  if (!same(before.metadata.annotations, after.metadata.annotations)) wrong(4, "annotations changed");
  if (!same(before.metadata.labels, after.metadata.labels)) wrong(4, "labels changed");
  if (!same(conditions(before), conditions(after))) wrong(4, "foreign conditions changed");
  if (!same(before.spec, after.spec)) wrong(4, "the specification changed");
};
