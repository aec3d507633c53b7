// A cluster with a simulated Rancher environment over HTTP, and Rancher's executable.

import { RancherCloud, serveRancherCloud } from "../../../providers/rancher/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Node, Service } from "../../../src/kube/objects.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { orUndefined } from "../../support/official-client.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import type { KeptProcess } from "./kept-process.ts";
import { kubeletNode } from "./kubelet-objects.ts";

const namespace = "default";
const access = "access";
const prefix = "service.rancher.io/";
const excludedLabel = "node.kubernetes.io/exclude-from-external-load-balancers";

type Annotations = Readonly<Record<string, string>>;

export class RancherCluster {
  readonly cluster: Cluster;
  readonly cloud = new RancherCloud({ clock: systemClock, stateTime: milliseconds(200), maxLimit: 100 });
  readonly #served = serveRancherCloud(this.cloud, 0);
  readonly #secretFile: string;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.#secretFile = cluster.file("secret-key", "");
    this.setKey("s3cret");
  }

  static async open(): Promise<RancherCluster> {
    return new RancherCluster(await openCluster());
  }

  /** Sets the only key that the API accepts from now on. */
  setKey(secret: string): void {
    this.cloud.revokeKeys();
    this.cloud.addKey(access, secret);
    this.cluster.file("secret-key", secret);
  }

  /** Uses the Go manager's environment, and the secret key in a file. */
  start(...flags: readonly string[]): KeptProcess {
    const executable = process.env["FAIRLEAD_TEST_RANCHER_EXECUTABLE"] ?? "";
    if (executable === "") throw new Error("Run the cluster tests with: npm run test:cluster");
    return this.cluster.manager({
      executable,
      flags: [
        "--cloud-provider=rancher",
        "--allow-untagged-cloud",
        "--absence-confirmation=5s",
        "--removal-limit=off",
        `--config-set=secret-key-file=${this.#secretFile}`,
        ...flags,
      ],
      env: { CATTLE_URL: `${this.#served.url}/v2-beta`, CATTLE_ACCESS_KEY: access },
    });
  }

  /** Services of the environment that are not removed. */
  existing(type: "loadBalancerService" | "externalService") {
    this.cloud.settle();
    return this.cloud.environment.services.list().filter((one) => one.type === type && one.removed === null);
  }

  /** The Nodes to which the load balancer of a Service forwards. */
  targetsOf({ metadata }: Service): readonly string[] {
    const balancer = this.existing("loadBalancerService").find((one) =>
      Object.values(one.metadata).includes(metadata.uid),
    );
    const ids = new Set(balancer?.lbConfig?.portRules.flatMap(({ serviceId }) => serviceId ?? []));
    const targets = this.existing("externalService").filter(({ id }) => ids.has(id));
    return targets.map(({ name }) => name).toSorted();
  }

  async nodes(): Promise<readonly Node[]> {
    return await this.cluster.api.list(nodes);
  }

  service(name: string): Promise<Service | undefined> {
    return orUndefined(this.cluster.api.get(services, { namespace, name }));
  }

  async services(): Promise<readonly Service[]> {
    const items = await this.cluster.api.list(services, { namespace });
    return items.filter(({ metadata }) => metadata.name !== "kubernetes");
  }

  async createService(name: string, port: number, annotations: Annotations = {}): Promise<Service> {
    const full = Object.entries(annotations).map(([key, value]) => [prefix + key, value]);
    return this.cluster.api.create(services, {
      metadata: { name, namespace, annotations: Object.fromEntries(full) },
      spec: { type: "LoadBalancer", selector: { app: name }, ports: [{ port, protocol: "TCP" }] },
      status: {},
    });
  }

  async editService(name: string, body: object): Promise<void> {
    const patch = { contentType: "application/merge-patch+json", body } as const;
    await this.cluster.api.patch(services, { namespace, name }, patch);
  }

  async annotate(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    const full = Object.entries(annotations).map(([key, value]) => [prefix + key, value]);
    await this.editService(name, { metadata: { annotations: Object.fromEntries(full) } });
  }

  async deleteService(name: string): Promise<void> {
    await this.cluster.api.delete(services, { namespace, name });
  }

  /** Registers a Node like a kubelet, with the label that excludes it from load balancers if it is not a target. */
  async join(name: string, isTarget: boolean): Promise<void> {
    const draft = kubeletNode(name);
    const labels = { ...draft.metadata.labels, ...(isTarget ? {} : { [excludedLabel]: "" }) };
    await this.cluster.api.create(nodes, { ...draft, metadata: { ...draft.metadata, labels } });
  }

  /** Sets whether the Node is excluded from load balancers. */
  async exclude(name: string, isExcluded: boolean): Promise<void> {
    const labels = { [excludedLabel]: isExcluded ? "" : null };
    const patch = { contentType: "application/merge-patch+json", body: { metadata: { labels } } } as const;
    await this.cluster.api.patch(nodes, { name }, patch);
  }

  /** Waits until the Service has an address. */
  served(name: string): Promise<Service> {
    return this.cluster.until(`an address of Service ${name}`, async () => {
      const service = await this.service(name);
      return (service?.status.loadBalancer?.ingress ?? []).length > 0 && service;
    });
  }

  /** Waits for an event of the object that contains the text. */
  async event(object: string, text: string): Promise<void> {
    await this.cluster.until(`an event of ${object} with: ${text}`, async () => {
      const found = await this.cluster.eventsOf(object);
      return found.some(({ message, reason }) => `${reason} ${message}`.includes(text));
    });
  }

  /** Deletes all Services, and waits until nothing of them is left in Kubernetes and in Rancher. */
  async deleteAll(): Promise<void> {
    // A Service that was deleted earlier may be gone by now.
    for (const { metadata } of await this.services()) await orUndefined(this.deleteService(metadata.name));
    await this.cluster.until(
      "the deletion of all Services",
      async () => (await this.services()).length === 0,
    );
    await this.cluster.until(
      "the removal of all load balancers and external services",
      () => this.existing("loadBalancerService").length + this.existing("externalService").length === 0,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
    await this.#served[Symbol.asyncDispose]();
  }
}
