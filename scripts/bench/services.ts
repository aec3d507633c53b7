// Measures Services: creating them, adding a Node, restarting the manager, and deleting them. Twenty Nodes are targets, as for
// the Go managers; a label excludes the others.

import type { Draft } from "../../src/kube/client/api.ts";
import type { Service } from "../../src/kube/objects.ts";
import { services } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { joinNode, joinNodes } from "./joined-nodes.ts";
import { perObject } from "./process-cost.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { type Step, StepTimer } from "./steps.ts";
import { Bench, type BenchOptions } from "./world.ts";

export interface ServicesRun {
  readonly server: string;
  readonly count: number;
  readonly nodes: number;
  readonly steps: readonly Step[];
}

type Row = Omit<ServicesRun, "steps"> & { readonly step: Step };

const columns: Columns<Row> = [
  ["Services", ({ count }) => String(count)],
  ["Nodes", ({ nodes }) => String(nodes)],
  ["Step", ({ step }) => step.name],
  ["s", ({ step }) => decimal(step.seconds, 2)],
  ["Cloud requests", ({ step }) => String(step.requests)],
  ["of them mutating", ({ step }) => String(step.mutating)],
  ["API reads", ({ step }) => String(step.reads ?? "not counted")],
  ["API writes", ({ step }) => String(step.writes ?? "not counted")],
  ["CPU s so far", ({ step }) => decimal(step.cost?.cpuSeconds, 2)],
  ["CPU ms per Service", ({ step, count }) => decimal(perObject(step.cost, count), 1)],
  ["Peak RSS MiB so far", ({ step }) => decimal(step.cost?.peakMiB, 0)],
];

const targets = 20;

function service(index: number): Draft<Service> {
  return {
    metadata: { name: `web-${index}`, namespace: "default" },
    spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    status: {},
  };
}

export async function measureServices(
  options: BenchOptions,
  count: number,
  nodeCount: number,
): Promise<ServicesRun> {
  await using bench = await Bench.open(options);
  const { api, cloud } = bench;
  await joinNodes(bench, nodeCount, targets);
  let manager = bench.start();
  const timer = new StepTimer(bench, () => manager);

  const all = async (): Promise<readonly Service[]> =>
    (await api.listPage(services, { namespace: "default", limit: 5000 }, never)).items.filter(
      ({ spec }) => spec.type === "LoadBalancer",
    );
  const withTargets = (number: number) =>
    cloud.balancers.list().filter((balancer) => balancer.targets.length === number).length;
  const describeBalancers = () => `${cloud.balancers.list().length} of ${count} load balancers`;
  const indexes = Array.from({ length: count }, (_, index) => index);
  const remove = ({ metadata: { name, namespace = "default" } }: Service) =>
    api.delete(services, { name, namespace }, {}, never);

  await timer.measure({
    name: "created, all have an address",
    start: () => inParallel(indexes, 32, (index) => api.create(services, service(index), never)),
    isDone: async () =>
      (await all()).filter(({ status }) => status.loadBalancer?.ingress?.length).length === count,
    describe: describeBalancers,
  });
  await timer.measure({
    name: "one more Node",
    start: () => joinNode(bench, "one-more", true),
    isDone: () => withTargets(targets + 1) === cloud.balancers.list().length,
    describe: () => `${withTargets(targets + 1)} of ${count} load balancers have it`,
  });
  let listedBefore = 0;
  const listings = () =>
    cloud.seen.filter(({ operation }) => operation === "GET /balancers").length - listedBefore;
  await timer.measure({
    name: "restart without changes",
    start: async () => {
      await manager.stop();
      listedBefore += listings();
      manager = bench.start();
    },
    // Before the first listing, an absence of requests does not mean that the restart is over.
    isDone: () => listings() > 0,
    describe: () => `${listings()} pages of load balancers listed`,
  });
  await timer.measure({
    name: "all deleted",
    start: async () => inParallel(await all(), 32, remove),
    isDone: async () => cloud.balancers.list().length === 0 && (await all()).length === 0,
    describe: describeBalancers,
  });
  return { server: bench.serverName, count, nodes: nodeCount, steps: timer.steps };
}

export function servicesSection(runs: readonly ServicesRun[]): Section {
  return sectionOf(
    `Services with ${targets} targets each`,
    columns,
    runs.flatMap(({ steps, ...run }) => steps.map((step) => ({ ...run, step }))),
  );
}
