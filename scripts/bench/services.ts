// Measures Services from nothing to nothing: made at once, one Node more, a restart with everything in place, all deleted.
// Twenty Nodes are targets, as for the Go managers it is compared with; the other thousand is there and left out.

import type { Draft } from "../../src/kube/api.ts";
import type { Service } from "../../src/kube/objects.ts";
import { nodes, services } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { until } from "../../test/cluster/rig/until.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";
import { type Bench, type BenchOptions, mustRun, openBench } from "./world.ts";

export interface Step {
  readonly name: string;
  readonly seconds: number;
  readonly requests: number;
  readonly mutating: number;
}

export interface ServicesRun {
  readonly server: string;
  readonly count: number;
  readonly nodes: number;
  readonly steps: readonly Step[];
  readonly cost: ProcessCost | undefined;
}

const targets = 20;
const excluded = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };

const join = async ({ api, cloud }: Bench, name: string, isTarget: boolean): Promise<void> => {
  const { id } = cloud.machines.add(name);
  const draft = kubeletNode(name, { providerID: `fake://${id}`, taints: [] });
  const labels = { ...draft.metadata.labels, ...(isTarget ? {} : excluded) };
  await api.create(nodes, { ...draft, metadata: { ...draft.metadata, labels } }, never);
};

const service = (index: number): Draft<Service> => ({
  metadata: { name: `web-${index}`, namespace: "default" },
  spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
  status: {},
});

/** Nothing more to come: for so long no request was made. */
const quietMs = 1500;

export const measureServices = async (
  options: BenchOptions & { readonly nodeCount: number },
): Promise<ServicesRun> => {
  const { count, nodeCount } = options;
  await using bench = await openBench(options);
  const { api, cloud } = bench;
  const names = Array.from({ length: nodeCount }, (_, index) => `node-${index}`);
  await inParallel(names, 32, (name) => join(bench, name, names.indexOf(name) < targets));
  let manager = bench.start();
  const steps: Step[] = [];

  const lastRequestAt = async (): Promise<number> => {
    let seen = cloud.seen.length;
    let at = performance.now();
    await until("the cloud to be left alone", () => {
      mustRun(manager);
      if (cloud.seen.length !== seen) {
        seen = cloud.seen.length;
        at = performance.now();
      }
      return performance.now() - at > quietMs;
    });
    return at;
  };
  const measure = async (
    name: string,
    begin: () => Promise<unknown>,
    isDone: () => boolean | Promise<boolean>,
  ): Promise<void> => {
    await lastRequestAt();
    const before = cloud.seen.length;
    const began = performance.now();
    await begin();
    await until(
      name,
      async () => {
        mustRun(manager);
        return isDone();
      },
      { seconds: 900, everyMs: 20, explain: () => manager.output().slice(-3000) },
    );
    const done = performance.now();
    const settled = await lastRequestAt();
    const seen = cloud.seen.slice(before);
    steps.push({
      name,
      seconds: (Math.max(done, settled) - began) / 1000,
      requests: seen.length,
      mutating: seen.filter(({ mutates }) => mutates).length,
    });
  };
  const all = async (): Promise<readonly Service[]> =>
    (await api.listPage(services, { namespace: "default", limit: 5000 }, never)).items.filter(
      ({ spec }) => spec.type === "LoadBalancer",
    );
  const haveTargets = (number: number) => () =>
    cloud.balancers.list().every((balancer) => balancer.targets.length === number);
  const indexes = Array.from({ length: count }, (_, index) => index);
  const remove = ({ metadata: { name, namespace = "default" } }: Service) =>
    api.delete(services, { name, namespace }, {}, never);

  await measure(
    "created, all have their address",
    () => inParallel(indexes, 32, (index) => api.create(services, service(index), never)),
    async () => (await all()).filter(({ status }) => status.loadBalancer?.ingress?.length).length === count,
  );
  await measure("one Node more", () => join(bench, "one-more", true), haveTargets(targets + 1));
  await measure(
    "restart with everything in place",
    async () => {
      await manager.stop();
      manager = bench.start();
    },
    () => manager.output().includes(" runs"),
  );
  await measure(
    "all deleted",
    async () => inParallel(await all(), 32, remove),
    async () => cloud.balancers.list().length === 0 && (await all()).length === 0,
  );
  return { server: bench.serverName, count, nodes: nodeCount, steps, cost: processCost(manager.pid) };
};
