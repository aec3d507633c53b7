// Only the volume controller runs, as with `--controllers=volume`: an operator restarts all replicas with it for some minutes, and the cloud
// hides many machines meanwhile.

import { milliseconds } from "../../src/core/brand.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

export const volumeControllerAlone = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, clock, hiddenMachines, history, replicas } = world;
  let hasStopped = false;
  const restart = (controllers: string | undefined): void => {
    history.log(`an operator restarts all replicas with ${controllers ?? "all controllers"}`);
    for (const replica of [...replicas]) world.killReplica(replica);
    world.controllers = controllers;
    for (let count = world.replicaCount; count > 0; count -= 1) world.startReplica();
  };
  const end = (): void => {
    if (world.controllers !== undefined) restart(undefined);
  };
  const begin = (): void => {
    const machines = cloud.machines.list();
    const min = Math.max(2, Math.floor(world.nodes().length * 0.2)) + 4;
    if (machines.length < min || world.isHidingMany || hiddenMachines.isHiding) return;
    // After 6 minutes, kube-controller-manager detaches by force from Nodes that are not Ready.
    const duration = Math.round(dice.between(480_000, 600_000));
    world.hidesMany(duration + 60_000);
    restart("volume");
    clock.after(milliseconds(30_000), () => {
      if (hasStopped) return;
      history.log(`cloud: hides all machines for ${duration / 1000} s`);
      for (const { id, name } of machines) {
        hiddenMachines.hide(id, "both", duration);
        // Its pods leave, but it cannot unmount.
        world.silent.add(name);
        clock.after(milliseconds(duration), () => world.silent.delete(name));
      }
      for (const { claim } of dice.some(world.volumes?.pods.mounts ?? [], 5)) world.volumes?.pods.move(claim);
    });
    clock.after(milliseconds(duration + 60_000), end);
  };
  if (world.volumes === undefined) return { disruptions: [], stop: () => undefined };
  return {
    disruptions: [{ weight: 1, apply: begin }],
    stop: () => {
      hasStopped = true;
      end();
    },
  };
};
