// The objects that the Go manager leaves in Rancher and in Kubernetes, as its source creates them.

import { draft, type RancherWorld } from "./rancher-world.ts";

export interface GoBalancer {
  readonly name: string;
  readonly ports: readonly number[];
  /** Nodes with the first address of their host. */
  readonly nodes: Readonly<Record<string, string>>;
  /** The number of containers that an operator has set. */
  readonly scale?: number;
}

const withoutUse = { startOnCreate: false, metadata: {}, healthCheck: null } as const;

function stackID({ environment }: RancherWorld["cloud"]): string {
  const name = "kubernetes-loadbalancers";
  return (environment.stacks.find((stack) => stack.name === name) ?? environment.addStack(name)).id;
}

/** The load balancer of an owner with the external services of the Nodes, which load balancers share. */
export function putGoBalancer(
  { cloud }: RancherWorld,
  owner: string,
  { ports, nodes, scale = 1 }: GoBalancer,
) {
  const { services } = cloud.environment;
  const stackId = stackID(cloud);
  const externals = Object.entries(nodes).map(
    ([name, ip]) =>
      services.list().find((one) => one.name === name && one.removed === null) ??
      services.put("externalService", {
        ...withoutUse,
        name,
        stackId,
        scale: 1,
        externalIpAddresses: [ip],
        launchConfig: null,
        lbConfig: null,
      }),
  );
  const portRules = externals.flatMap(({ id: serviceId }) =>
    ports.map((port) => ({
      sourcePort: port,
      targetPort: 30_000 + port,
      protocol: "tcp",
      serviceId,
      selector: null,
      backendName: null,
    })),
  );
  const empty = { certificateIds: [], defaultCertificateId: null, config: null, stickinessPolicy: null };
  return services.put("loadBalancerService", {
    ...withoutUse,
    name: `lb-a${owner.replaceAll("-", "")}`.slice(0, 35),
    stackId,
    scale,
    launchConfig: {
      imageUuid: "docker:rancher/lb-service-haproxy:v0.9.1",
      ports: ports.map((port) => `${port}:${port}/tcp`),
      labels: { "io.rancher.container.agent.role": "environmentAdmin" },
    },
    lbConfig: { ...empty, portRules },
    externalIpAddresses: null,
  });
}

/** A Service with its load balancer. The Go manager publishes an address once for each port. */
export function leftByGoManager(h: RancherWorld, balancer: GoBalancer, ingress: readonly string[]) {
  const ports = balancer.ports.map((port) => ({
    name: `p${port}`,
    port,
    protocol: "TCP",
    nodePort: 30_000 + port,
  }));
  const finalizers = ["service.kubernetes.io/load-balancer-cleanup"];
  const { uid } = h.world.create(balancer.name, { ...draft({}, ports), finalizers }).metadata;
  const put = putGoBalancer(h, uid, balancer);
  const all = balancer.ports.flatMap(() => ingress.map((ip) => ({ ip, ipMode: "VIP" })));
  h.world.edit(
    balancer.name,
    (service) => ({ ...service, status: { loadBalancer: { ingress: all as never } } }),
    "status",
  );
  return put;
}
