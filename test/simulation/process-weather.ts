// What can happen to the processes of the manager: killed, told to end, stopped and continued, and a wall clock that steps.

import { milliseconds } from "../../src/core/brand.ts";
import type { Dice, Mishap, Weather } from "./storm.ts";
import type { World } from "./world.ts";

export const processWeather = (world: World, dice: Dice): Weather => {
  const { replicas, clock, script } = world;

  /** Mostly the leader: the others have little to lose. */
  const victim = () => (dice.chance(0.7) ? (world.leader ?? dice.pick(replicas)) : dice.pick(replicas));
  const successor = (): void => {
    clock.after(milliseconds(Math.round(dice.between(0, 30_000))), () => world.startReplica());
  };
  const kill = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    world.killReplica(replica);
    successor();
  };
  const terminate = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    world.terminateReplica(replica);
    successor();
  };
  const stop = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    const duration = Math.round(dice.between(500, 60_000));
    script.say(`${replica.name} is stopped for ${duration / 1000} s`);
    replica.life.stop();
    const first = dice.chance(0.5) ? "timer" : "answer";
    clock.after(milliseconds(duration), () => replica.life.resume(first));
  };
  const step = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    const by = Math.round(dice.between(-5, 5) * (dice.chance(0.5) ? 3_600_000 : 10_000));
    script.say(`the wall clock of ${replica.name} steps by ${by / 1000} s`);
    replica.clock.step(milliseconds(by));
  };

  const mishaps: readonly Mishap[] = [
    { weight: 4, strike: kill },
    { weight: 2, strike: terminate },
    { weight: 4, strike: stop },
    { weight: 2, strike: step },
  ];
  return {
    mishaps,
    calm: () => {
      for (const { life } of replicas) life.resume("timer");
    },
  };
};
