// Incorrect responses of a cloud that is asked for single load balancers, within the limits of the design: a lookup contradicts
// only a listing that is too old to be believed, or the cloud's response to the deletion before it. Other lookups show a load
// balancer of another Service, fail or are slow. Lookups lag as listings do: see balancer-faults.ts.

import { hasAddress } from "../../src/controllers/service/desired/facts.ts";
import { isBeingDeleted, wantsLoadBalancer } from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { isMarked } from "./cloud-invariants.ts";
import type { CloudLie } from "./cloud-lies.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

/** Below the confirmation time of 30 s. */
const longest = 18_000;

export const lookupFaults = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, cloudLies, clock, history, users } = world;
  const { listingTimes } = world.variants;
  if (listingTimes === undefined) return { disruptions: [], stop: () => undefined };
  /** Load balancers whose next deletion has no effect, although lookups do not find them after it. */
  const spared = new Set<string>();
  const lies = cloudLies.balancers;

  const lie = (what: CloudLie, duration: number): void => {
    history.log(`cloud: lookups lie for ${duration / 1000} s: ${JSON.stringify(what)}`);
    lies.add(what, duration);
  };
  const later = (most: number, work: () => void): void => {
    clock.after(milliseconds(Math.round(dice.between(1_000, most))), work);
  };
  /** A Service with an address, and the id of its load balancer. */
  const pickServed = (): { readonly name: string; readonly id: string } | undefined => {
    const service = dice.pick(
      users
        .services()
        .filter(
          (one) => wantsLoadBalancer(one, servesWithoutClass) && !isBeingDeleted(one) && hasAddress(one),
        ),
    );
    const balancer = cloud.balancers
      .list()
      .find(({ labels }) => isMarked(labels) && labels["owner-uid"] === service?.metadata.uid);
    if (service === undefined || balancer === undefined || lies.isLying) return undefined;
    return { name: service.metadata.name, id: balancer.id };
  };

  /** An edit makes the manager look the load balancer up. */
  const miss = (): void => {
    const served = pickServed();
    if (served === undefined) return;
    const { name, id } = served;
    const applies = (): boolean => listingTimes.isOld(history.writer);
    lie({ kind: "missing", ids: [id], from: "lookup", applies }, Math.round(dice.between(10_000, 200_000)));
    later(30_000, () =>
      users.editSpec(name, { ports: [{ port: dice.pick([80, 81, 443]), protocol: "TCP" }] }),
    );
  };
  const showAnother = (): void => {
    const served = pickServed();
    if (served !== undefined)
      lie({ kind: "another", id: served.id }, Math.round(dice.between(1_000, longest)));
  };
  const deleteWithoutEffect = (): void => {
    const served = pickServed();
    if (served === undefined || lies.wereHidden.has(served.id)) return;
    const { name, id } = served;
    lies.wereHidden.add(id);
    spared.add(id);
    history.log(`cloud: the next deletion of ${id} has no effect, and lookups do not find it`);
    cloud.faults.add({ kind: "no-effect", operation: "DELETE /balancers/{id}", calls: 1 });
    if (dice.chance(0.5)) users.delete(name);
    else users.editSpec(name, { type: "ClusterIP" });
    if (dice.chance(0.5)) later(40_000, () => users.editSpec(name, { type: "LoadBalancer" }));
  };
  world.onCloudRequest = ({ method, url }) => {
    const id = new URL(url).pathname.split("/").at(-1) ?? "";
    if (method !== "DELETE" || !spared.delete(id) || cloud.seen.at(-1)?.status !== 204) return;
    // The load balancer still exists, so this was the deletion without effect.
    if (!cloud.balancers.list().some((one) => one.id === id)) return;
    lie({ kind: "missing", ids: [id], from: "lookup", applies: () => true }, longest);
  };
  const fail = (): void => {
    const planned = {
      kind: dice.pick(["status", "reset", "hang", "cut", "slow"] as const) ?? "status",
      operation: dice.pick(["GET /balancers/{id}", "GET /balancers/{id}", "GET /balancers"]) ?? "",
      status: dice.pick([403, 423, 429, 500, 503]) ?? 500,
      calls: dice.count(1, 6),
      milliseconds: dice.count(100, 40_000),
    };
    history.log(`cloud: ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
  };

  return {
    disruptions: [
      { weight: 6, apply: miss },
      { weight: 3, apply: showAnother },
      { weight: 3, apply: deleteWithoutEffect },
      { weight: 3, apply: fail },
    ],
    stop: () => spared.clear(),
  };
};
