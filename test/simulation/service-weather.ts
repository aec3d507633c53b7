// What happens to Services, balancers and routes: people who change their minds within a second, tools that edit without
// end, a cloud that loses, refuses and is changed by hand.

import { milliseconds } from "../../src/core/brand.ts";
import { isOurRoute } from "./settled-cloud.ts";
import type { Dice, Mishap, Weather } from "./storm.ts";
import type { World } from "./world.ts";

const names = ["web", "mail", "api", "dns", "shop", "game"] as const;
const algorithm = "balancer.fake.example/algorithm";
const paused = "fairlead.dev/paused";
const onDelete = "fairlead.dev/on-delete";
const operations = {
  balancers: ["GET /balancers", "POST /balancers", "PATCH /balancers/{id}", "DELETE /balancers/{id}"],
  routes: ["GET /routes", "POST /routes", "DELETE /routes/{id}"],
} as const;

export const serviceWeather = (world: World, dice: Dice): Weather => {
  const { people, cloud, clock, script } = world;
  const soon = (work: () => void): void => {
    clock.after(milliseconds(Math.round(dice.between(0, 1500))), work);
  };
  const anyName = (): string => dice.pick(names) ?? "web";
  const spec = () => ({
    type: dice.pick(["LoadBalancer", "LoadBalancer", "LoadBalancer", "ClusterIP", "NodePort"]) ?? "ClusterIP",
    ports: [{ port: dice.pick([80, 81, 443]) ?? 80, protocol: "TCP" }],
  });
  const make = (): void => people.create(anyName(), spec());
  const backAndForth = (): void => {
    const name = anyName();
    for (const type of ["ClusterIP", "LoadBalancer", "NodePort", "LoadBalancer"].slice(0, dice.count(1, 4))) {
      soon(() => people.editSpec(name, { type }));
    }
  };
  const remake = (): void => {
    const name = anyName();
    people.delete(name);
    for (const _ of [1, 2, 3]) soon(() => people.create(name, spec()));
  };
  const churn = (): void => {
    const name = anyName();
    for (let count = dice.count(5, 30); count > 0; count -= 1) {
      soon(() => people.annotate(name, "gitops.example/sync", String(dice.count(0, 1e9))));
    }
  };
  const clearStatus = (): void =>
    people.edit(anyName(), "no status", (one) => ({ ...one, status: { loadBalancer: {} } }), "status");
  const pause = (): void => {
    const name = anyName();
    people.annotate(name, paused, "true");
    clock.after(milliseconds(Math.round(dice.between(1_000, 200_000))), () =>
      people.annotate(name, paused, undefined),
    );
  };
  const target = (): "balancers" | "routes" => dice.pick(["balancers", "balancers", "routes"]) ?? "balancers";
  const fault = (kind: "status" | "reset" | "lost-answer" | "hang" | "cut" | "slow"): void => {
    const operation = dice.pick(operations[target()]) ?? "GET /balancers";
    const status = dice.pick([400, 403, 409, 422, 423, 429, 500, 503]) ?? 500;
    const planned = {
      kind,
      operation,
      status,
      calls: dice.count(1, 6),
      milliseconds: dice.count(100, 40_000),
    };
    script.say(`cloud: ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
  };
  /** Until the storm is over, or so many were refused. */
  const quotaFull = (): void => {
    const operation = dice.pick(["POST /balancers", "POST /routes"]) ?? "POST /routes";
    script.say(`cloud: no room for ${operation}`);
    cloud.faults.add({ kind: "status", operation, status: 422, calls: dice.count(3, 12) });
  };
  const ourBalancer = () =>
    dice.pick(
      cloud.balancers
        .list()
        .filter(({ labels, status }) => labels["managed-by"] === "fairlead" && status === "active"),
    );
  const loseBalancer = (): void => {
    const one = ourBalancer();
    if (one === undefined) return;
    script.say(`cloud: balancer ${one.id} of ${one.labels["owner-uid"]} is lost`);
    cloud.balancers.remove(one.id);
  };
  const editBalancer = (): void => {
    const one = ourBalancer();
    if (one === undefined) return;
    script.say(`cloud: balancer ${one.id} loses its targets by hand`);
    cloud.balancers.change(one.id, dice.chance(0.5) ? { targets: [] } : { algorithm: "least-connections" });
  };
  const ourRoute = () =>
    dice.pick(cloud.routes.list().filter(({ labels, destination }) => isOurRoute(labels, destination)));
  const loseRoute = (): void => {
    const one = ourRoute();
    if (one === undefined) return;
    script.say(`cloud: route ${one.destination} is lost`);
    cloud.routes.remove(one.id);
  };
  const misleadRoute = (): void => {
    const one = ourRoute();
    if (one === undefined) return;
    script.say(`cloud: route ${one.destination} leads elsewhere`);
    cloud.routes.remove(one.id);
    cloud.routes.create({ ...one, machine: String(dice.count(1, 99)) });
  };

  const mishaps: readonly Mishap[] = [
    { weight: 8, strike: make },
    { weight: 5, strike: () => people.editSpec(anyName(), spec()) },
    { weight: 4, strike: backAndForth },
    { weight: 4, strike: () => people.delete(anyName()) },
    { weight: 4, strike: remake },
    { weight: 2, strike: () => people.strip(anyName()) },
    { weight: 2, strike: churn },
    { weight: 3, strike: clearStatus },
    { weight: 1, strike: pause },
    {
      weight: 3,
      strike: () =>
        people.annotate(
          anyName(),
          algorithm,
          dice.pick(["round-robin", "least-connections", "round-robbin"]),
        ),
    },
    { weight: 2, strike: () => people.annotate(anyName(), onDelete, dice.pick(["delete", "keep"])) },
    { weight: 6, strike: () => fault("status") },
    { weight: 5, strike: () => fault(dice.pick(["reset", "lost-answer", "hang", "cut", "slow"]) ?? "reset") },
    { weight: 2, strike: quotaFull },
    { weight: 2, strike: loseBalancer },
    { weight: 2, strike: editBalancer },
  ];
  // Routes that were changed by hand are found by the full check alone, which is rare unless told otherwise.
  const byHand = [
    { weight: 2, strike: loseRoute },
    { weight: 2, strike: misleadRoute },
  ];
  return {
    mishaps: world.checksRoutesOften ? [...mishaps, ...byHand] : mishaps,
    calm: () => {
      for (const { metadata } of people.services()) {
        for (const key of [paused, algorithm, onDelete]) {
          if (metadata.annotations?.[key] !== undefined) people.annotate(metadata.name, key, undefined);
        }
      }
    },
  };
};
