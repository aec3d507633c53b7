// Changes of Services, and faults of load balancers and routes: users who revert a change within a second, tools that
// edit continuously, and a cloud in which objects are lost, refused or edited by hand.

import { hasAddress } from "../../src/controllers/service/desired/facts.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { isManagedRoute } from "./cloud-deviations.ts";
import { isMarked } from "./cloud-invariants.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

const names = ["web", "mail", "api", "dns", "shop", "game", "blog", "chat", "wiki", "docs"] as const;
const algorithm = "balancer.fake.example/algorithm";
const paused = "fairlead.dev/paused";
const onDelete = "fairlead.dev/on-delete";
const operations = {
  balancers: ["GET /balancers", "POST /balancers", "PATCH /balancers/{id}", "DELETE /balancers/{id}"],
  routes: ["GET /routes", "POST /routes", "DELETE /routes/{id}"],
} as const;

export const serviceChanges = (world: World, dice: Dice): DisruptionSource => {
  const { users, cloud, clock, history, absence } = world;
  const soon = (work: () => void): void => {
    clock.after(milliseconds(Math.round(dice.between(0, 1500))), work);
  };
  const anyName = (): string => dice.pick(names) ?? "web";
  const spec = () => ({
    type: dice.pick(["LoadBalancer", "LoadBalancer", "LoadBalancer", "ClusterIP", "NodePort"]) ?? "ClusterIP",
    ports: [{ port: dice.pick([80, 81, 443]) ?? 80, protocol: "TCP" }],
  });
  const create = (): void => users.create(anyName(), spec());
  const changeTypeRepeatedly = (): void => {
    const name = anyName();
    for (const type of ["ClusterIP", "LoadBalancer", "NodePort", "LoadBalancer"].slice(0, dice.count(1, 4))) {
      soon(() => users.editSpec(name, { type }));
    }
  };
  /** A class belongs to another controller. It can only be set together with the type. */
  const changeClass = (): void => {
    const name = anyName();
    soon(() => users.editSpec(name, { type: "ClusterIP" }));
    if (dice.chance(0.3)) clock.after(milliseconds(1600), () => users.delete(name));
    const loadBalancerClass = dice.chance(0.7) ? "other.example/class" : undefined;
    clock.after(milliseconds(Math.round(dice.between(1_500, 6_000))), () =>
      users.editSpec(name, {
        type: "LoadBalancer",
        ...(loadBalancerClass !== undefined && { loadBalancerClass }),
      }),
    );
    if (dice.chance(0.5)) return;
    clock.after(milliseconds(Math.round(dice.between(6_000, 120_000))), () =>
      users.editSpec(name, { type: "ClusterIP" }),
    );
  };
  const recreate = (): void => {
    const name = anyName();
    users.delete(name);
    for (const _ of [1, 2, 3]) soon(() => users.create(name, spec()));
  };
  const editRepeatedly = (): void => {
    const name = anyName();
    for (let count = dice.count(5, 30); count > 0; count -= 1) {
      soon(() => users.annotate(name, "gitops.example/sync", String(dice.count(0, 1e9))));
    }
  };
  const clearStatus = (): void =>
    users.edit(anyName(), "no status", (one) => ({ ...one, status: { loadBalancer: {} } }), "status");
  const pause = (): void => {
    const name = anyName();
    users.annotate(name, paused, "true");
    clock.after(milliseconds(Math.round(dice.between(1_000, 200_000))), () =>
      users.annotate(name, paused, undefined),
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
    history.log(`cloud: ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
  };
  /** Lasts until this number of requests was rejected. */
  const exhaustQuota = (): void => {
    const operation = dice.pick(["POST /balancers", "POST /routes"]) ?? "POST /routes";
    history.log(`cloud: quota exhausted for ${operation}`);
    cloud.faults.add({ kind: "status", operation, status: 422, calls: dice.count(3, 12) });
  };
  const anyBalancer = () =>
    dice.pick(cloud.balancers.list().filter(({ labels, status }) => isMarked(labels) && status === "active"));
  const loseBalancer = (): void => {
    const one = anyBalancer();
    if (one === undefined) return;
    history.log(`cloud: balancer ${one.id} of ${one.labels["owner-uid"]} is lost`);
    const owner = users.services().find(({ metadata }) => metadata.uid === one.labels["owner-uid"]);
    // Before the Service shows its address, the response to the creation may be the only evidence, and it may be lost as well.
    if (owner !== undefined && hasAddress(owner)) absence.lost(owner.metadata.uid);
    cloud.balancers.remove(one.id);
  };
  const editBalancer = (): void => {
    const one = anyBalancer();
    if (one === undefined) return;
    history.log(`cloud: balancer ${one.id} loses its targets by hand`);
    cloud.balancers.change(one.id, dice.chance(0.5) ? { targets: [] } : { algorithm: "least-connections" });
  };
  const anyRoute = () =>
    dice.pick(cloud.routes.list().filter(({ labels, destination }) => isManagedRoute(labels, destination)));
  const loseRoute = (): void => {
    const one = anyRoute();
    if (one === undefined) return;
    history.log(`cloud: route ${one.destination} is lost`);
    absence.lost(one.destination);
    cloud.routes.remove(one.id);
  };
  const changeRouteTarget = (): void => {
    const one = anyRoute();
    if (one === undefined) return;
    history.log(`cloud: route ${one.destination} gets another target`);
    cloud.routes.remove(one.id);
    cloud.routes.create({ ...one, machine: String(dice.count(1, 99)) });
  };

  const disruptions: readonly Disruption[] = [
    { weight: 8, apply: create },
    { weight: 5, apply: () => users.editSpec(anyName(), spec()) },
    { weight: 4, apply: changeTypeRepeatedly },
    { weight: 3, apply: changeClass },
    { weight: 4, apply: () => users.delete(anyName()) },
    { weight: 4, apply: recreate },
    { weight: 2, apply: () => users.removeFinalizers(anyName()) },
    { weight: 2, apply: editRepeatedly },
    { weight: 3, apply: clearStatus },
    { weight: 1, apply: pause },
    {
      weight: 3,
      apply: () =>
        users.annotate(anyName(), algorithm, dice.pick(["round-robin", "least-connections", "round-robbin"])),
    },
    { weight: 2, apply: () => users.annotate(anyName(), onDelete, dice.pick(["delete", "keep"])) },
    { weight: 6, apply: () => fault("status") },
    { weight: 5, apply: () => fault(dice.pick(["reset", "lost-answer", "hang", "cut", "slow"]) ?? "reset") },
    { weight: 2, apply: exhaustQuota },
    { weight: 2, apply: loseBalancer },
    { weight: 2, apply: editBalancer },
  ];
  // Only the full reconciliation detects routes that were changed by hand, and it is rare unless configured otherwise.
  const byHand = [
    { weight: 2, apply: loseRoute },
    { weight: 2, apply: changeRouteTarget },
  ];
  return {
    disruptions: world.checksRoutesOften ? [...disruptions, ...byHand] : disruptions,
    stop: () => {
      for (const { metadata } of users.services()) {
        for (const key of [paused, algorithm, onDelete]) {
          if (metadata.annotations?.[key] !== undefined) users.annotate(metadata.name, key, undefined);
        }
      }
    },
  };
};
