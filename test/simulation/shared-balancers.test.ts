// Services that share load balancers and move from one to another, while the cloud is slow and fails.

import { expect, test } from "bun:test";
import { finalizer, wantsLoadBalancer } from "../../src/controllers/service/predicates.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { isMarked, ownersOf } from "./cloud-invariants.ts";
import { Dice } from "./disruptions.ts";
import { pool, sharing } from "./shared-balancers.ts";
import { World } from "./world.ts";

const names = ["web", "mail", "api", "dns", "shop"];
const portOf = (name: string): number => 80 + names.indexOf(name);

function change({ users, cloud, history }: World, dice: Dice): void {
  const name = dice.pick(names) ?? "web";
  const type = dice.pick(["LoadBalancer", "LoadBalancer", "ClusterIP"] as const) ?? "LoadBalancer";
  const kind = dice.pick(["slow", "status", "lost-answer"] as const) ?? "slow";
  const operation =
    dice.pick(["POST /balancers", "PATCH /balancers/{id}", "DELETE /balancers/{id}"] as const) ??
    "POST /balancers";
  const changes = [
    () => users.create(name, { type, ports: [{ port: portOf(name), protocol: "TCP" }] }),
    () => users.annotate(name, pool, dice.pick(["one", "two", undefined])),
    () => users.annotate(name, pool, dice.pick(["one", "two", undefined])),
    () => users.annotate(name, pool, dice.pick(["one", "two", undefined])),
    () => users.editSpec(name, { type }),
    () => users.delete(name),
    () => {
      history.log(`cloud: ${kind} ${operation}`);
      cloud.faults.add({
        kind,
        operation,
        status: 503,
        calls: dice.count(1, 3),
        milliseconds: dice.count(500, 8000),
      });
    },
  ];
  dice.pick(changes)?.();
}

function deviations({ users, cloud }: World): readonly string[] {
  const own = cloud.balancers.list().filter(({ labels }) => isMarked(labels));
  const wanted = users.services().filter(wantsLoadBalancer);
  const groups = new Map(Map.groupBy(wanted, ({ metadata }) => metadata.annotations?.[pool] ?? metadata.uid));
  const shown = (uids: readonly string[], ports: readonly number[]) =>
    `${uids.toSorted().join("+")}: ${ports.toSorted().join()}`;
  const expected = [...groups.values()].map((services) =>
    shown(
      services.map(({ metadata }) => metadata.uid),
      services.flatMap(({ spec }) => (spec.ports ?? []).map(({ port }) => port)),
    ),
  );
  const actual = own.map(({ labels, listeners }) =>
    shown(
      ownersOf(labels),
      listeners.map(({ port }) => port),
    ),
  );
  const left = users
    .services()
    .filter(
      ({ metadata, spec }) => spec.type !== "LoadBalancer" && (metadata.finalizers ?? []).includes(finalizer),
    );
  return [
    ...expected.filter((one) => !actual.includes(one)).map((one) => `missing ${one}`),
    ...actual.filter((one) => !expected.includes(one)).map((one) => `left over ${one}`),
    ...left.map(({ metadata }) => `${metadata.name} keeps its finalizer`),
  ];
}

/** Undefined if every invariant held, and everything converged. */
async function failureOf(seed: number): Promise<string | undefined> {
  const world = new World({
    seed,
    nodes: 3,
    replicas: 1,
    provider: sharing,
    flags: ["--configure-cloud-routes=false"],
    // A Service that moves loses its former load balancer, and gets another one.
    ignored: [18, 19],
  });
  const { clock, users, cloud, invariants, history } = world;
  const dice = new Dice(seededRandom(seed));
  for (const name of names) users.create(name, { ports: [{ port: portOf(name), protocol: "TCP" }] });
  for (let count = 0; count < 120 && invariants.violations.length === 0; count += 1) {
    change(world, dice);
    await clock.advance(milliseconds(dice.count(100, 15_000)));
  }
  cloud.faults.clear();
  const end = clock.monotonic() + minutes(10);
  while (clock.monotonic() < end && invariants.violations.length === 0) await clock.advance(seconds(5));
  const problems = [
    ...invariants.violations.map(({ invariant, text }) => `${invariant}: ${text}`),
    ...deviations(world),
  ];
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.kubelets.stop();
  return problems.length === 0
    ? undefined
    : [
        ...history.last(60).filter((line) => !line.includes("MODIFIED") && !line.includes("ADDED")),
        ...problems,
      ].join("\n");
}

const seeds = Array.from({ length: runsAllTests ? 20 : 1 }, (_, index) => index + 1);

test.each(seeds)(
  "the load balancers of one owner are changed one at a time, and end with the right owners: seed %d",
  async (seed) => {
    expect(await failureOf(seed)).toBeUndefined();
  },
);
