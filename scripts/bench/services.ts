// Measures Services from nothing to nothing: made at once, one Node more, a restart with everything in place, all deleted.
// Twenty Nodes are targets, as for the Go managers it is compared with; the other thousand is there and left out.

import type { Draft } from "../../src/kube/client/api.ts";
import type { Service } from "../../src/kube/objects.ts";
import { services } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { joinNode, joinNodes } from "./joined-nodes.ts";
import { type Section, sectionOf } from "./section.ts";
import { createSteps, type Step } from "./steps.ts";
import { type Columns, decimal } from "./table.ts";
import { type BenchOptions, openBench } from "./world.ts";

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
  ["CPU s so far", ({ step }) => decimal(step.cost?.cpuSeconds, 2)],
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
  await using bench = await openBench(options);
  const { api, cloud } = bench;
  await joinNodes(bench, nodeCount, targets);
  let manager = bench.start();
  const { steps, measure } = createSteps(bench, () => manager);

  const all = async (): Promise<readonly Service[]> =>
    (await api.listPage(services, { namespace: "default", limit: 5000 }, never)).items.filter(
      ({ spec }) => spec.type === "LoadBalancer",
    );
  const haveTargets = (number: number) =>
    cloud.balancers.list().filter((balancer) => balancer.targets.length === number).length;
  const describeBalancers = () => `${cloud.balancers.list().length} of ${count} balancers`;
  const indexes = Array.from({ length: count }, (_, index) => index);
  const remove = ({ metadata: { name, namespace = "default" } }: Service) =>
    api.delete(services, { name, namespace }, {}, never);

  await measure(
    "created, all have their address",
    () => inParallel(indexes, 32, (index) => api.create(services, service(index), never)),
    async () => (await all()).filter(({ status }) => status.loadBalancer?.ingress?.length).length === count,
    describeBalancers,
  );
  await measure(
    "one Node more",
    () => joinNode(bench, "one-more", true),
    () => haveTargets(targets + 1) === cloud.balancers.list().length,
    () => `${haveTargets(targets + 1)} of ${count} balancers have it`,
  );
  let listedBefore = 0;
  const listings = () =>
    cloud.seen.filter(({ operation }) => operation === "GET /balancers").length - listedBefore;
  await measure(
    "restart with everything in place",
    async () => {
      await manager.stop();
      listedBefore += listings();
      manager = bench.start();
    },
    // Before it has looked at what is there it leaves the cloud alone for another reason.
    () => listings() > 0,
    () => `${listings()} pages of balancers listed`,
  );
  await measure(
    "all deleted",
    async () => inParallel(await all(), 32, remove),
    async () => cloud.balancers.list().length === 0 && (await all()).length === 0,
    describeBalancers,
  );
  return { server: bench.serverName, count, nodes: nodeCount, steps };
}

export function servicesSection(runs: readonly ServicesRun[]): Section {
  return sectionOf(
    `Services with ${targets} targets each`,
    columns,
    runs.flatMap(({ steps, ...run }) => steps.map((step) => ({ ...run, step }))),
  );
}
