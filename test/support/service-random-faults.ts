// Random faults over Services from one seed: users, Nodes, a cloud and an API server that change and fail at random,
// and processes that crash. Returns violated invariants, during and after the faults, as text.

import { type Random, seededRandom } from "../../src/platform/random.ts";
import { lbFinalizer, ServiceWorld } from "./service-world.ts";

const types = ["LoadBalancer", "LoadBalancer", "ClusterIP", "NodePort"];
const faults = ["status", "reset", "lost-answer", "slow", "cut", "hang"] as const;
const operations = ["GET /balancers", "POST /balancers", "PATCH /balancers/{id}", "DELETE /balancers/{id}"];

export const runRandomFaults = async (seed: number, steps = 40): Promise<readonly string[]> => {
  const random: Random = seededRandom(seed);
  const chance = (share: number) => random.fraction() < share;
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random.fraction() * all.length)] as T;
  const w = new ServiceWorld({ seed, actionTime: pick([0, 300, 5000]) });
  const wrong: string[] = [];
  const foreign = w.cloud.balancers.create({ name: "not-ours", labels: { of: "another" } });
  /** Services that were deleted without a trace before any running process saw them: orphans, which are only reported. */
  const unseen = new Set<string>();

  const balancerChange = (what: string): void => {
    // The finalizer must exist before the first request that creates anything.
    if (what !== "POST /balancers") return;
    const anyMarked = w.services().some(({ metadata }) => metadata.finalizers?.includes(lbFinalizer));
    const anyGone = w.services().length === 0;
    if (!anyMarked && !anyGone) wrong.push(`made without a finalizer at ${w.clock.monotonic()}`);
  };
  w.server.onWrite(({ storage, type, before }) => {
    if (storage !== "services" || before === undefined) return;
    const { uid, finalizers = [] } = before.metadata;
    // A Service may be deleted only when nothing of it is left in the cloud.
    const isLast = type === "DELETED" && finalizers.includes(lbFinalizer);
    if (isLast && !unseen.has(uid) && w.owners().includes(uid))
      wrong.push(`${before.metadata.name} left its balancer behind`);
  });
  let crashIn = -1;
  w.onCrossing = (what, when) => {
    if (when === "before") balancerChange(what);
    if (crashIn-- === 0) w.crash();
  };
  w.kubeFault = () => {
    if (!isStormy || !chance(0.1)) return undefined;
    return chance(0.5) ? new TypeError("The connection was closed.") : new Response("{}", { status: 500 });
  };
  let isStormy = true;

  const actions: readonly ((name: string) => void)[] = [
    (name) => void (w.find(name) === undefined && w.create(name, { spec: { type: pick(types) } })),
    (name) => w.find(name) && w.editSpec(name, { type: pick(types) }),
    (name) => w.find(name) && w.editSpec(name, { ports: [{ port: pick([80, 81, 443]), protocol: "TCP" }] }),
    (name) => {
      const algorithm = pick(["round-robin", "least-connections", "round-robbin", undefined]);
      if (w.find(name)) w.annotate(name, { "balancer.fake.example/algorithm": algorithm });
    },
    (name) => w.find(name) && w.annotate(name, { "example.com/churn": String(random.fraction()) }),
    (name) => w.find(name) && w.delete(name),
    (name) => {
      const service = w.find(name);
      if (service === undefined || !w.isRunning) return;
      // If the process crashes now, the next one has not seen this Service.
      unseen.add(service.metadata.uid);
      w.edit(name, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
    },
    (name) =>
      w.find(name) &&
      w.edit(name, (one) => ({ ...one, status: { loadBalancer: { ingress: [] } } }), "status"),
    () => w.addNode(`extra-${Math.floor(random.fraction() * 1e9)}`),
    () => w.removeNode(pick(["node-0", "node-1"])),
    () =>
      w.cloud.faults.add({
        kind: pick(faults),
        operation: pick(operations),
        status: pick([400, 403, 423, 429, 500, 503]),
        calls: pick([1, 1, 5]),
        milliseconds: 4000,
      }),
    () => {
      const [one] = w.cloud.balancers.list().filter(({ id }) => id !== foreign.id);
      if (one?.status === "active") w.cloud.balancers.remove(one.id);
    },
    () => {
      crashIn = Math.floor(random.fraction() * 12);
    },
  ];
  await w.start();
  for (let step = 0; step < steps; step += 1) {
    pick(actions)(pick(["a", "b", "c", "d"]));
    await w.pass(pick([0, 0.005, 0.03, 0.3, 3, 40]));
    if (!w.isRunning) await w.start();
  }

  isStormy = false;
  w.onCrossing = undefined;
  w.cloud.faults.clear();
  if (!w.isRunning) await w.start();
  for (const { metadata } of w.services()) {
    w.annotate(metadata.name, { "balancer.fake.example/algorithm": undefined });
  }
  await w.pass(3600);
  return [...wrong, ...(await afterwards(w, foreign.id, unseen))];
};

/** The invariants that must hold after all faults ended. */
const afterwards = async (
  w: ServiceWorld,
  foreign: string,
  unseen: ReadonlySet<string>,
): Promise<readonly string[]> => {
  const wrong: string[] = w.unexpectedErrors.map((error) => `a process failed: ${String(error)}`);
  const wanted = w.wanted();
  const present = w.cloud.balancers.list().filter(({ id }) => id !== foreign);
  if (!w.cloud.balancers.list().some(({ id, targets }) => id === foreign && targets.length === 0)) {
    wrong.push("the foreign balancer was touched");
  }
  for (const uid of wanted) {
    const mine = present.filter(({ labels }) => labels["owner-uid"] === uid);
    if (mine.length !== 1) wrong.push(`${uid} has ${mine.length} balancers`);
  }
  const living = new Set(w.services().map(({ metadata }) => metadata.uid));
  for (const { labels } of present) {
    const uid = labels["owner-uid"] ?? "";
    if (!wanted.includes(uid) && (living.has(uid) || !unseen.has(uid))) wrong.push(`${uid} is left over`);
  }
  for (const { metadata, spec, status } of w.services()) {
    const isServed = wanted.includes(metadata.uid);
    const balancer = present.find(({ labels }) => labels["owner-uid"] === metadata.uid);
    const ips = (status.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
    if (metadata.deletionTimestamp !== undefined) wrong.push(`${metadata.name} is still going`);
    if ((metadata.finalizers ?? []).includes(lbFinalizer) !== isServed)
      wrong.push(`finalizer of ${metadata.name}`);
    if (ips.join() !== (isServed ? balancer?.ip : ""))
      wrong.push(`status of ${metadata.name}: ${ips.join()}`);
    const ports = (spec.ports ?? []).map(({ port, nodePort }) => `${port} ${nodePort}`).join();
    const there = balancer?.listeners.map(({ port, target_port }) => `${port} ${target_port}`).join();
    if (isServed && ports !== there) wrong.push(`ports of ${metadata.name}: ${ports}, not ${there}`);
    const nodes = w.server.store.list("nodes").length;
    if (isServed && balancer?.targets.length !== nodes) wrong.push(`targets of ${metadata.name}`);
  }
  w.forget();
  await w.stop();
  await w.start();
  await w.pass(3600);
  if (w.changes.length + w.written.length > 0) {
    wrong.push(`after all that: ${[...w.changes, ...w.written].join("; ")}`);
  }
  if (w.asked.length > 30) wrong.push(`${w.asked.length} requests in a quiet hour`);
  w.crash();
  return wrong;
};
