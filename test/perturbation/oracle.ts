// Actions that no manager may take, whatever it sees. Checked against the true state at each API server write and each cloud change.

import type { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import type { Transport } from "../../src/platform/transport.ts";
import { readRequest } from "../../src/testing/apiserver/http/parse-request.ts";
import { isWrite } from "./perturbed-server.ts";

/** The true state of the cluster and the cloud. */
export interface Truth {
  readonly cloud: FakeCloud;
  node(name: string): Promise<Node | undefined>;
  service(name: string): Promise<Service | undefined>;
  nodes(): Promise<readonly Node[]>;
  services(): Promise<readonly Service[]>;
}

const finalizer = "service.kubernetes.io/load-balancer-cleanup";

const needsBalancer = ({ metadata, spec }: Service): boolean =>
  spec.type === "LoadBalancer" && metadata.deletionTimestamp === undefined;
const hasFinalizer = ({ metadata }: Service): boolean => metadata.finalizers?.includes(finalizer) === true;
const addressesOf = ({ status }: Service): readonly string[] =>
  (status.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip);

export class Oracle {
  readonly #truth: Truth;
  /** Called after each successful write and change. */
  readonly #onWrite: () => void;
  readonly #violations = new Set<string>();
  readonly #checks: Promise<void>[] = [];

  constructor(truth: Truth, onWrite: () => void) {
    this.#truth = truth;
    this.#onWrite = onWrite;
    this.#follow(truth.cloud);
  }

  get isViolated(): boolean {
    return this.#violations.size > 0;
  }

  /** Returns all violations, including those of the final state. */
  async violations(): Promise<readonly string[]> {
    await Promise.all(this.#checks);
    const services = await this.#truth.services();
    for (const { id, labels } of this.#truth.cloud.balancers.list()) {
      const owner = services.find(({ metadata }) => metadata.uid === labels["owner-uid"]);
      if (owner === undefined || !needsBalancer(owner)) this.#violated(`load balancer ${id} was leaked`);
    }
    return [...this.#violations];
  }

  /** The API server as a manager reaches it. */
  watch(server: Transport): Transport {
    return async (request, signal) => {
      const info = readRequest(request);
      if (!isWrite(info)) return server(request, signal);
      const { verb, plural, name } = info;
      const node = plural === "nodes" ? await this.#truth.node(name) : undefined;
      const service = plural === "services" ? await this.#truth.service(name) : undefined;
      const response = await server(request, signal);
      if (!response.ok) return response;
      if (verb === "delete" && node !== undefined) this.#nodeDeleted(node);
      if (service !== undefined) this.#serviceWritten(service, await this.#truth.service(name));
      this.#onWrite();
      return response;
    };
  }

  #violated(text: string): void {
    this.#violations.add(text);
  }

  #nodeDeleted({ metadata: { name }, spec: { providerID } }: Node): void {
    const machine = providerID?.replace("fake://", "") ?? name;
    if (this.#truth.cloud.machines.find(machine).length > 0)
      this.#violated(`Node ${name} was deleted, but its machine exists`);
  }

  #serviceWritten(before: Service, after: Service | undefined): void {
    const { name, uid } = before.metadata;
    const own = this.#balancersOf(uid);
    const isReleased = after === undefined || !hasFinalizer(after);
    if (hasFinalizer(before) && isReleased && own.length > 0)
      this.#violated(`the finalizer of Service ${name} was removed before its load balancer`);
    const known = [...addressesOf(before), ...own.map(({ ip }) => ip)];
    const foreign = (after === undefined ? [] : addressesOf(after)).filter(
      (address) => !known.includes(address),
    );
    if (foreign.length > 0) this.#violated(`Service ${name} got the address of another load balancer`);
  }

  #balancersOf(uid: string) {
    return this.#truth.cloud.balancers.list().filter(({ labels }) => labels["owner-uid"] === uid);
  }

  #follow(cloud: FakeCloud): void {
    const handle = cloud.handle.bind(cloud);
    cloud.handle = (query, token) => {
      const { method, path } = query;
      const [, collection, id = ""] = path.split("/");
      const balancer = cloud.balancers.list().find((one) => one.id === id);
      const route = cloud.routes.list().find((one) => one.id === id);
      const delivery = handle(query, token);
      if (method === "GET" || delivery.answer.status >= 400) return delivery;
      if (collection === "balancers" && method === "POST") {
        const { labels = {} } = (query.body ?? {}) as { readonly labels?: Record<string, string> };
        this.#checks.push(this.#balancerCreated(labels["owner-uid"] ?? ""));
      }
      if (method === "DELETE" && balancer !== undefined)
        this.#checks.push(this.#balancerRemoved(balancer.labels["owner-uid"] ?? ""));
      if (method === "DELETE" && route !== undefined)
        this.#checks.push(this.#routeRemoved(route.destination, route.machine));
      this.#onWrite();
      return delivery;
    };
  }

  async #balancerCreated(uid: string): Promise<void> {
    const count = this.#balancersOf(uid).length;
    const owner = (await this.#truth.services()).find(({ metadata }) => metadata.uid === uid);
    if (owner === undefined || !needsBalancer(owner))
      return this.#violated("a load balancer was created for a Service that needs none");
    const { name } = owner.metadata;
    if (count > 1) this.#violated(`a second load balancer of Service ${name} was created`);
    if (!hasFinalizer(owner))
      this.#violated(`the load balancer of Service ${name} was created before its finalizer`);
  }

  async #balancerRemoved(uid: string): Promise<void> {
    const owner = (await this.#truth.services()).find(({ metadata }) => metadata.uid === uid);
    if (owner !== undefined && needsBalancer(owner))
      this.#violated(`the load balancer of Service ${owner.metadata.name} was removed, but it is needed`);
  }

  async #routeRemoved(destination: string, machine: string): Promise<void> {
    const owner = (await this.#truth.nodes()).find(
      ({ spec }) => spec.providerID === `fake://${machine}` && spec.podCIDR === destination,
    );
    if (owner !== undefined && this.#truth.cloud.machines.has(machine))
      this.#violated(`the route of Node ${owner.metadata.name} was removed, but it is needed`);
  }
}
