// Credentials of another project: an operator restarts all replicas with them, and the cloud has nothing of what this cluster records,
// whatever it is asked, until the operator notices. That is at the latest when another process leads after new Services have got load
// balancers there, because to that process they vouch for the account.

import { milliseconds } from "../../src/core/brand.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

export const wrongProject = (world: World, dice: Dice): DisruptionSource => {
  const { clock, history, replicas, silent, users } = world;

  const restart = (): void => {
    for (const replica of [...replicas]) world.killReplica(replica);
    for (let count = world.replicaCount; count > 0; count -= 1)
      clock.after(milliseconds(Math.round(dice.between(500, 20_000))), () => {
        if (replicas.length < world.replicaCount) world.startReplica();
      });
  };
  /** The replica whose requests have created something there. */
  let creator: string | undefined;
  const correct = (): void => {
    if (world.otherProject === undefined) return;
    history.log("the credentials belong to the project of this cluster again");
    world.otherProject = undefined;
    restart();
  };
  const mistake = (): void => {
    if (world.isHidingMany || world.otherProject !== undefined) return;
    const duration = Math.round(dice.between(60_000, 500_000));
    history.log(`the credentials belong to another project for ${duration / 1000} s`);
    world.hidesMany(duration + 60_000);
    world.otherProject = world.variants.anotherProject();
    creator = undefined;
    restart();
    for (const { metadata } of world.nodes()) {
      if (dice.chance(0.5)) continue;
      silent.add(metadata.name);
      clock.after(milliseconds(duration + 60_000), () => silent.delete(metadata.name));
    }
    clock.after(milliseconds(duration), correct);
  };
  /** In a large cluster, the mass limits alone would hold everything. */
  const mistakeInSmallCluster = (): void => {
    for (const { metadata } of users.services().slice(dice.count(1, 2))) users.delete(metadata.name);
    clock.after(milliseconds(60_000), mistake);
  };

  const { onNewLeader } = world;
  world.onNewLeader = () => {
    onNewLeader();
    const { leader, otherProject } = world;
    const isEmpty = (otherProject?.balancers.list().length ?? 0) === 0;
    if (!isEmpty && creator !== leader?.name) clock.after(milliseconds(0), correct);
    creator = leader?.name;
  };

  // A volume that is created there is of no use later.
  if (world.volumes !== undefined) return { disruptions: [], stop: () => undefined };
  return {
    disruptions: [
      { weight: 1, apply: mistake },
      { weight: 3, apply: mistakeInSmallCluster },
    ],
    stop: correct,
  };
};
