// Creates Services and finds their load balancers in the simulated cloud.

import type { SimulatedBalancer } from "../../../providers/fake/simulator/balancers.ts";
import type { Draft } from "../../../src/kube/client/api.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { orUndefined } from "../../support/official-client.ts";
import type { Cluster } from "./cluster.ts";
import { kubeletNode } from "./kubelet-objects.ts";

const excluded = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };
const namespace = "default";

export const ownerOf = ({ labels }: SimulatedBalancer): string | undefined => labels["owner-uid"];

export const loadBalancer = (
  name: string,
  spec: Service["spec"] = {},
  annotations: Readonly<Record<string, string>> = {},
): Draft<Service> => ({
  metadata: { name, namespace, annotations },
  spec: { type: "LoadBalancer", selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  status: {},
});

export const balancedServices = ({ api, cloud, until }: Cluster) => {
  const get = (name: string) => orUndefined(api.get(services, { namespace, name }));
  const balancersOf = ({ metadata }: Service): readonly SimulatedBalancer[] =>
    cloud.balancers.list().filter((balancer) => ownerOf(balancer) === metadata.uid);
  return {
    get,
    balancersOf,
    /** Creates an initialized Node with its machine, and returns the machine's id, which load balancers list as target. */
    target: async (name: string, { isTarget = true } = {}): Promise<string> => {
      const { id } = cloud.machines.add(name);
      const draft = kubeletNode(name, { providerID: `fake://${id}`, taints: [] });
      const labels = { ...draft.metadata.labels, ...(isTarget ? {} : excluded) };
      await api.create(nodes, { ...draft, metadata: { ...draft.metadata, labels } });
      return id;
    },
    create: (...args: Parameters<typeof loadBalancer>) => api.create(services, loadBalancer(...args)),
    edit: (name: string, body: object) =>
      api.patch(services, { namespace, name }, { contentType: "application/merge-patch+json", body }),
    delete: (name: string) => api.delete(services, { namespace, name }),
    all: async (): Promise<readonly Service[]> =>
      (await api.list(services, { namespace })).filter(({ metadata }) => metadata.name !== "kubernetes"),
    nodeNames: async (): Promise<readonly string[]> =>
      (await api.list(nodes)).map(({ metadata }) => metadata.name),
    /** Waits until the Service has a load balancer and its address. */
    served: (name: string): Promise<{ readonly service: Service; readonly balancer: SimulatedBalancer }> =>
      until(`the load balancer of Service ${name}`, async () => {
        const service = await get(name);
        const [balancer] = service === undefined ? [] : balancersOf(service);
        const shown = (service?.status.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
        const isShown = shown.includes(balancer?.ip) || shown.includes(balancer?.ipv6 ?? "none");
        return service !== undefined && balancer !== undefined && isShown && { service, balancer };
      }),
  };
};

export type BalancedServices = ReturnType<typeof balancedServices>;

/** Requests that changed the cloud, in order. */
export const changesIn = ({ cloud }: Cluster, since = 0): readonly string[] =>
  cloud.seen
    .slice(since)
    .filter(({ mutates }) => mutates)
    .map(({ operation }) => operation);
