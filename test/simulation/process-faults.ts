// Faults of the manager's processes: killed, terminated, paused and resumed, steps of the wall clock, and reloads with valid and
// invalid configuration files.

import { milliseconds } from "../../src/core/brand.ts";
import { configurationFile, invalidLines, liveSettings } from "./configuration-file.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

export const processFaults = (world: World, dice: Dice): DisruptionSource => {
  const { replicas, clock, history } = world;

  /** Usually the leader, because the other replicas do little. */
  const victim = () => (dice.chance(0.7) ? (world.leader ?? dice.pick(replicas)) : dice.pick(replicas));
  const startSuccessor = (): void => {
    clock.after(milliseconds(Math.round(dice.between(0, 30_000))), () => world.startReplica());
  };
  const kill = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    world.killReplica(replica);
    startSuccessor();
  };
  const terminate = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    world.terminateReplica(replica);
    startSuccessor();
  };
  const pause = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    const duration = Math.round(dice.between(500, 60_000));
    history.log(`${replica.name} is paused for ${duration / 1000} s`);
    replica.process.pause();
    const first = dice.chance(0.5) ? "timer" : "answer";
    clock.after(milliseconds(duration), () => replica.process.resume(first));
  };
  const step = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    const by = Math.round(dice.between(-5, 5) * (dice.chance(0.5) ? 3_600_000 : 10_000));
    history.log(`the wall clock of ${replica.name} steps by ${by / 1000} s`);
    replica.clock.step(milliseconds(by));
  };

  const reload = (): void => {
    const [name, values] = dice.pick(liveSettings) ?? ["v", ["0"]];
    const value = dice.pick(values) ?? values[0] ?? "";
    // As when a ConfigMap arrives in one pod after the other.
    world.reconfigure({ ...world.settings, [name]: value }, () => Math.round(dice.between(0, 20_000)));
  };
  const reloadInvalid = (): void => {
    const replica = victim();
    if (replica === undefined) return;
    const content = configurationFile(world.settings, dice.pick(invalidLines) ?? "  no-such-flag: 1\n");
    history.log(`${replica.name} gets an invalid configuration: ${JSON.stringify(content)}`);
    replica.configure(content, dice.chance(0.5) ? "file" : "signal");
  };

  const disruptions: readonly Disruption[] = [
    { weight: 4, apply: kill },
    { weight: 2, apply: terminate },
    { weight: 4, apply: pause },
    { weight: 2, apply: step },
    { weight: 5, apply: reload },
    { weight: 1, apply: reloadInvalid },
  ];
  return {
    disruptions,
    stop: () => {
      for (const { process } of replicas) process.resume("timer");
      world.reconfigure({}, () => 0);
    },
  };
};
