// Other users of the same cloud account and cluster: another cluster that creates, changes and deletes its own load
// balancers and routes, and tenants who write large annotations and misspell many.

import { seconds } from "../../src/core/brand.ts";
import { otherClusterUID } from "./cloud-invariants.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

const labels = { cluster: "another", "managed-by": "fairlead" };
/** A cluster that has the default name as well. */
const namesake = { cluster: "kubernetes", "managed-by": "fairlead", "cluster-uid": otherClusterUID };
/** The pod ranges of the other cluster are outside those of this cluster's Nodes. */
const ranges = ["10.244.248.0/24", "10.244.249.0/24", "10.96.7.0/24"] as const;

export const neighbours = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, clock, cloudInvariants, history, users } = world;
  const own = () => cloud.balancers.list().filter(({ name }) => name.startsWith("another-"));

  /** The other cluster runs Fairlead as well, and a restored copy of this cluster has Services with the same uids. */
  const createBalancer = (): void => {
    const uid = dice.pick(users.services())?.metadata.uid ?? "no-such-service";
    const name = `another-${dice.count(1, 6)}`;
    if (own().some((one) => one.name === name)) return;
    history.log(`another cluster creates the balancer ${name} for ${uid}`);
    const mark = dice.chance(0.5) ? labels : namesake;
    cloud.balancers.create({ name, labels: { ...mark, "owner-uid": uid }, targets: ["1"] });
  };
  const changeBalancer = (): void => {
    const one = dice.pick(own().filter(({ status }) => status === "active"));
    if (one === undefined) return;
    history.log(`another cluster changes or deletes the balancer ${one.name}`);
    if (dice.chance(0.5)) cloud.balancers.remove(one.id);
    else cloud.balancers.change(one.id, { targets: [String(dice.count(1, 99))] });
  };
  const changeRoute = (): void => {
    const destination = dice.pick(ranges) ?? ranges[0];
    const before = cloud.routes.list().find((one) => one.destination === destination);
    history.log(`another cluster ${before === undefined ? "creates" : "deletes"} the route ${destination}`);
    if (before !== undefined) cloud.routes.remove(before.id);
    else cloud.routes.create({ destination, machine: "1", labels: { cluster: labels.cluster } });
  };
  const writeLargeAnnotations = (): void => {
    const { name = "web" } = dice.pick(users.services())?.metadata ?? {};
    const kind =
      dice.pick(["fairlead.dev", "balancer.fake.example", "team.example"] as const) ?? "team.example";
    for (let count = dice.count(1, 20); count > 0; count -= 1)
      users.annotate(
        name,
        `${kind}/${dice.pick(["algoritm", "pausd", "on-delet"] as const)}-${count}`,
        "x".repeat(dice.count(0, 4_000)),
      );
  };
  /** While another cluster owns the load balancer of a Service, this cluster creates none. */
  const removeAll = (): void => {
    for (const { id, status } of own()) if (status !== "changing") cloud.balancers.remove(id);
    cloudInvariants.othersChanged();
    if (own().length > 0) clock.after(seconds(1), removeAll);
  };
  const apart = (change: () => void) => (): void => {
    change();
    cloudInvariants.othersChanged();
  };

  return {
    disruptions: [
      { weight: 2, apply: apart(createBalancer) },
      { weight: 2, apply: apart(changeBalancer) },
      { weight: 1, apply: apart(changeRoute) },
      { weight: 1, apply: writeLargeAnnotations },
    ],
    stop: () => {
      removeAll();
      for (const { metadata } of users.services()) {
        for (const key of Object.keys(metadata.annotations ?? {}))
          if (/algoritm|pausd|on-delet-/.test(key)) users.annotate(metadata.name, key, undefined);
      }
    },
  };
};
