// Measures Services: creating them, adding a Node, restarting the manager, and deleting them. Twenty Nodes are targets, as for
// the Go managers; a label excludes the others.

import type { Draft } from "../../src/kube/client/api.ts";
import type { Service } from "../../src/kube/objects.ts";
import { services } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import type { KeptProcess } from "../../test/cluster/rig/kept-process.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { FollowedNames } from "./follow-names.ts";
import { joinNodes } from "./joined-nodes.ts";
import { perObject } from "./process-cost.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { type Step, StepTimer, stepNames } from "./steps.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

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

/** The targets of each Service. */
export const targets = 20;

/** Each Service has a different port: on some clouds, load balancers share machines. */
export const service = (index: number): Draft<Service> => ({
  metadata: { name: `web-${index}`, namespace: "default" },
  spec: {
    type: "LoadBalancer",
    selector: { app: "web" },
    ports: [{ port: 1000 + index, targetPort: 8080, nodePort: 30_000 + index }],
  },
  status: {},
});

export async function measureServices(
  options: BenchOptions,
  count: number,
  nodeCount: number,
): Promise<ServicesRun> {
  await using bench = await Bench.open(options);
  await joinNodes(bench, nodeCount, targets);
  return { server: bench.serverName, count, nodes: nodeCount, steps: await serviceSteps(bench, count) };
}

/** Starts a manager, which finds its Nodes as it left them. */
export async function serviceSteps(
  bench: Bench,
  count: number,
  flags: readonly string[] = [],
): Promise<readonly Step[]> {
  const { api, cloud } = bench;
  const requests = () => cloud.api.seen.length;
  const start = async (): Promise<KeptProcess> => {
    const sent = requests();
    const started = bench.start(...flags);
    // Before its first request, an absence of requests does not mean that the manager is idle.
    await untilDone(started, "it sent a request to the cloud", () => requests() > sent, { everyMs: 5 });
    return started;
  };
  let manager = await start();
  let before = 0;
  /** Before this request, an absence of requests does not mean that the restart is over. */
  const hasAskedForBalancers = () =>
    cloud.api.seen.slice(before).some(({ operation }) => /balancer/i.test(operation));
  const timer = new StepTimer(bench, () => manager);
  const balancers = () => cloud.targetCounts?.() ?? [];
  const withTargets = (number: number) => balancers().filter((each) => each === number).length;
  const describe = () => `${balancers().length} of ${count} load balancers`;
  const indexes = Array.from({ length: count }, (_, index) => index);
  const names = indexes.map((index) => `web-${index}`);

  {
    using published = new FollowedNames(api, services, { text: '"ingress":[' });
    await published.opened;
    await timer.measure({
      name: stepNames.created,
      start: () => inParallel(indexes, 32, (index) => api.create(services, service(index), never)),
      isDone: () => published.seenAt.size === count,
      describe,
    });
  }
  await timer.measure({
    name: stepNames.oneMore,
    start: () => bench.join("one-more"),
    isDone: () => withTargets(targets + 1) === count,
    describe: () => `${withTargets(targets + 1)} of ${count} load balancers have it`,
  });
  await timer.measure({
    name: stepNames.restart,
    start: async () => {
      await manager.stop();
      before = requests();
      manager = await start();
    },
    isDone: hasAskedForBalancers,
  });
  {
    using deleted = new FollowedNames(api, services, { text: '{"type":"DELETED"' });
    await deleted.opened;
    const remove = (name: string) => api.delete(services, { name, namespace: "default" }, {}, never);
    await timer.measure({
      name: stepNames.deleted,
      start: () => inParallel(names, 32, remove),
      isDone: () => deleted.seenAt.size === count && balancers().length === 0,
      describe,
    });
  }
  return timer.steps;
}

export function servicesSection(runs: readonly ServicesRun[]): Section {
  return sectionOf(
    `Services with ${targets} targets each`,
    columns,
    runs.flatMap(({ steps, ...run }) => steps.map((step) => ({ ...run, step }))),
  );
}
