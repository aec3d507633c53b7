// Objects that vanish from the API server without being deleted, and return later: a restored etcd, or another cluster behind the
// address. In addition, times without any manager, in which users continue.

import { isLeaving } from "../../src/controllers/node-facts.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { Node } from "../../src/kube/objects.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

export const vanishingObjects = (world: World, dice: Dice): DisruptionSource => {
  const { server, clock, history, absence, users, replicas, podRanges } = world;
  const resources = { services: resourceNamed("services"), nodes: resourceNamed("nodes") };
  const away: (() => void)[] = [];

  /** Managers list again, so that they never see a deletion. A deletion that a watch shows is a real one. */
  const restart = (): void => {
    server.compact();
    for (const { kube } of replicas) kube.cutStreams();
  };
  const vanish = (kind: "services" | "nodes", objects: readonly KubeObject[]): void => {
    const names = objects.map(({ metadata }) => metadata.name).join(", ");
    const duration = Math.round(dice.between(2_000, 400_000));
    if (world.isHidingMany) return;
    world.hidesMany(duration);
    history.log(`api server: ${kind} ${names} vanish for ${duration / 1000} s`);
    for (const object of objects) {
      const { uid, name } = object.metadata;
      // A Node whose departure was announced counts as deleted.
      const isAnnounced = kind === "nodes" && isLeaving(object as unknown as Node);
      if (!isAnnounced) absence.vanishes(kind === "services" ? uid : name);
      if (kind === "nodes") podRanges.keep(uid);
      server.store.remove(resources[kind], object);
    }
    restart();
    let isBack = false;
    const bringBack = (): void => {
      if (isBack) return;
      isBack = true;
      history.log(`api server: ${kind} ${names} return`);
      for (const object of objects) restore(kind, object);
      restart();
    };
    away.push(bringBack);
    clock.after(milliseconds(duration), bringBack);
  };
  const restore = (kind: "services" | "nodes", object: KubeObject): void => {
    const { uid, name, namespace } = object.metadata;
    if (server.store.get(kind, namespace, name) === undefined) {
      absence.returned(kind === "services" ? uid : name);
      server.store.put(resources[kind], object);
    } else if (kind === "services") {
      // The name was taken in the meantime. The load balancer has no Service to return to.
      users.finalizersRemoved.add(uid);
    }
  };
  const services = (): readonly KubeObject[] =>
    (users.services() as unknown as readonly KubeObject[]).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  const nodes = (): readonly KubeObject[] => server.store.list("nodes");
  const vanishSome = (): void => {
    if (dice.chance(0.5)) vanish("services", dice.some(services(), dice.count(1, 2)));
    else vanish("nodes", dice.some(nodes(), dice.count(1, 2)));
  };
  /** A backup from before the finalizers: a list without these Services looks like deletions that needed no update before. */
  const vanishWithoutFinalizers = (): void => {
    if (world.isHidingMany) return;
    for (const { metadata } of services()) users.removeFinalizers(metadata.name);
    clock.after(milliseconds(dice.count(3, 40)), () => vanish("services", services()));
  };
  const vanishMany = (): void => {
    if (dice.chance(0.6)) vanish("services", dice.some(services(), dice.count(3, services().length)));
    else vanish("nodes", dice.some(nodes(), dice.count(3, nodes().length)));
  };
  /** Users continue while no manager runs. */
  const noManager = (): void => {
    for (const replica of [...replicas]) world.killReplica(replica);
    for (const { metadata } of dice.some(services(), dice.count(0, 3))) {
      if (dice.chance(0.3)) users.removeFinalizers(metadata.name);
      users.delete(metadata.name);
    }
    for (let count = world.replicaCount; count > 0; count -= 1) {
      clock.after(milliseconds(Math.round(dice.between(500, 90_000))), () => {
        if (replicas.length < world.replicaCount) world.startReplica();
      });
    }
  };

  const disruptions: readonly Disruption[] = [
    { weight: 2, apply: vanishSome },
    { weight: 3, apply: vanishMany },
    { weight: 1, apply: vanishWithoutFinalizers },
    { weight: 2, apply: noManager },
  ];
  return {
    disruptions,
    stop: () => {
      for (const bringBack of away) bringBack();
    },
  };
};
