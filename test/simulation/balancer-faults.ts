// Incorrect cloud responses to reads and writes of balancers and routes, within the limits of the design: shorter than the
// confirmation time, or about more objects than the mass limit. Other objects are really lost, or created only in part.

import { hadRoutes } from "../../src/controllers/node-facts.ts";
import { hasAddress } from "../../src/controllers/service/desired/facts.ts";
import { isBeingDeleted, wantsLoadBalancer } from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { Service } from "../../src/kube/objects.ts";
import { isMarked } from "./cloud-invariants.ts";
import type { CloudLie, Collection } from "./cloud-lies.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

/** Below the confirmation time of 30 s, even together with the longest lag. */
const shortest = 1_000;
const longest = 18_000;
const longestLag = 10_000;
/** A younger object may have been missing because of a lag. */
const oldEnough = 180_000;

const isServed = (service: Service): boolean =>
  wantsLoadBalancer(service, servesWithoutClass) && !isBeingDeleted(service) && hasAddress(service);

export const balancerFaults = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, cloudLies, clock, history } = world;
  const firstSeen = new Map<string, number>();
  const watchAges = (): void => {
    for (const { id } of [...cloud.balancers.list(), ...cloud.routes.list()]) {
      if (!firstSeen.has(id)) firstSeen.set(id, clock.monotonic());
    }
    clock.after(milliseconds(10_000), watchAges);
  };
  watchAges();

  const collection = (): Collection =>
    dice.pick(["balancers", "balancers", "routes"] as const) ?? "balancers";
  const ids = (of: Collection): readonly string[] =>
    of === "balancers"
      ? cloud.balancers.list().flatMap(({ id, labels }) => (isMarked(labels) ? [id] : []))
      : cloud.routes.list().flatMap(({ id, labels }) => (labels["cluster"] === "kubernetes" ? [id] : []));
  const lie = (about: Collection, what: CloudLie, duration: number): void => {
    history.log(`cloud: lies about ${about} for ${duration / 1000} s: ${JSON.stringify(what)}`);
    cloudLies[about].add(what, duration);
  };
  const isOldEnough = (id: string): boolean =>
    clock.monotonic() - (firstSeen.get(id) ?? clock.monotonic()) > oldEnough;
  /** One lie at a time, because together they could last longer than the confirmation time. */
  const unlessLying = (apply: (about: Collection) => void) => (): void => {
    const about = collection();
    if (!cloudLies[about].isLying) apply(about);
  };

  const hideSome = (about: Collection): void => {
    const chosen = dice.some(
      ids(about).filter((id) => isOldEnough(id) && !cloudLies[about].wereHidden.has(id)),
      dice.count(1, 4),
    );
    if (chosen.length === 0) return;
    for (const id of chosen) cloudLies[about].wereHidden.add(id);
    const kind = dice.chance(0.7) ? "missing" : "foreign mark";
    // A lookup is definite, so it shows the objects that the listing lacks.
    const from = about === "balancers" && world.variants.lookupsBeside !== undefined ? "listing" : "both";
    lie(about, { kind, ids: chosen, from }, Math.round(dice.between(shortest, longest)));
  };
  /** The objects that are needed according to the Services and Nodes. A new leader knows only these when a listing lacks them. */
  const needed = (of: Collection): ReadonlySet<string> => {
    if (of === "balancers") {
      const owners = new Set(
        world.users.services().flatMap((service) => (isServed(service) ? service.metadata.uid : [])),
      );
      const owned = cloud.balancers.list().filter(({ labels }) => owners.has(labels["owner-uid"] ?? ""));
      return new Set(owned.flatMap(({ id, labels }) => (isMarked(labels) ? id : [])));
    }
    const ranges = new Set(
      world.nodes().flatMap((node) => (hadRoutes(node) ? (node.spec.podCIDR ?? []) : [])),
    );
    return new Set(cloud.routes.list().flatMap(({ id, destination }) => (ranges.has(destination) ? id : [])));
  };
  /** The number of these objects that must be hidden to exceed the mass limit, however many were removed recently. */
  const tooMany = (of: Collection): number => {
    const owners = of === "balancers" ? world.users.services().length : world.nodes().length;
    return Math.max(2, Math.floor((Math.max(owners, ids(of).length) + 5) * 0.2)) + 1;
  };
  /**
   * The objects hidden by lies about many. A new leader may believe such a lie if too few of the objects are needed at that time.
   */
  const hidden = new Map<Collection, readonly string[] | undefined>();
  const hiddenAndNeeded = (of: Collection): number =>
    [...needed(of)].filter((id) => hidden.get(of)?.includes(id) ?? true).length;
  world.onNewLeader = () => {
    for (const about of hidden.keys()) {
      if (!cloudLies[about].isLying || hiddenAndNeeded(about) >= tooMany(about)) continue;
      history.log(`cloud: does not lie about ${about} any more`);
      cloudLies[about].clear();
    }
  };
  /** An empty listing, or one that lacks more objects than the mass limit allows. */
  const hideMany = (about: Collection): void => {
    const all = ids(about);
    // Objects that stay hidden for a long time count as proven absent, so more of them than the limit must remain.
    const min = tooMany(about) + 2;
    if (all.length < min || world.isHidingMany) return;
    const duration = Math.round(dice.between(2_000, 400_000));
    const isEmpty = dice.chance(0.6);
    const chosen = isEmpty ? undefined : dice.some(all, dice.count(min, all.length));
    hidden.set(about, chosen);
    if (hiddenAndNeeded(about) < min) return;
    for (const id of all) cloudLies[about].wereHidden.add(id);
    world.hidesMany(duration);
    lie(about, { kind: "missing", from: "both", ...(chosen !== undefined && { ids: chosen }) }, duration);
  };
  const lag = (about: Collection): void =>
    lie(
      about,
      { kind: "lagging", by: Math.round(dice.between(500, longestLag)) },
      Math.round(dice.between(10_000, 300_000)),
    );
  const stale = (about: Collection): void =>
    lie(about, { kind: "stale replica" }, Math.round(dice.between(shortest, longest)));
  const repeat = (about: Collection): void =>
    lie(about, { kind: "repeated" }, Math.round(dice.between(1_000, 120_000)));
  const failCreation = (): void => {
    const operation = dice.chance(0.7) ? "POST /balancers" : "POST /routes";
    const kind = dice.chance(0.5) && operation === "POST /balancers" ? "half-made" : "false-error";
    const planned = {
      kind,
      operation,
      // Not 429: a cloud that throttles a request does nothing, so a manager may repeat it.
      status: dice.pick([500, 503, 409, 504]) ?? 500,
      calls: dice.count(1, 2),
    } as const;
    history.log(`cloud: ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
  };

  const disguise = (operation: string, calls: number): void => {
    const planned = dice.chance(0.5)
      ? ({ kind: "no-effect", operation, calls } as const)
      : ({ kind: "status", status: 404, operation, calls } as const);
    history.log(`cloud: ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
  };
  /** A deletion fails although it seems to succeed, and listings briefly do not show what remains. */
  const deleteWithoutEffect = (): void => {
    const service = dice.pick(world.users.services());
    const balancer = cloud.balancers
      .list()
      .find(({ labels }) => isMarked(labels) && labels["owner-uid"] === service?.metadata.uid);
    if (service === undefined || balancer === undefined || cloudLies.balancers.wereHidden.has(balancer.id))
      return;
    if (cloudLies.balancers.isLying || !isOldEnough(balancer.id)) return;
    cloudLies.balancers.wereHidden.add(balancer.id);
    disguise("DELETE /balancers/{id}", 1);
    const duration = Math.round(dice.between(5_000, longest));
    lie("balancers", { kind: "missing", ids: [balancer.id], from: "listing" }, duration);
    world.users.delete(service.metadata.name);
  };
  /** Responds with success without any effect, or with 404 for an object that exists. */
  const mislead = (): void => {
    const operation =
      dice.pick([
        "DELETE /balancers/{id}",
        "DELETE /balancers/{id}",
        "PATCH /balancers/{id}",
        "DELETE /routes/{id}",
      ] as const) ?? "DELETE /balancers/{id}";
    disguise(operation, dice.count(1, 2));
  };

  const disruptions: readonly Disruption[] = [
    { weight: 3, apply: mislead },
    { weight: 2, apply: deleteWithoutEffect },
    { weight: 4, apply: unlessLying(hideSome) },
    { weight: 3, apply: unlessLying(hideMany) },
    { weight: 3, apply: unlessLying(lag) },
    { weight: 2, apply: unlessLying(stale) },
    { weight: 2, apply: unlessLying(repeat) },
    { weight: 3, apply: failCreation },
  ];
  return { disruptions, stop: () => cloudLies.clear() };
};
