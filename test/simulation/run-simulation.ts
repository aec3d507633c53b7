// Runs one seed: a cluster starts, disruptions happen, everything must converge, stay idle, and survive a restart and reloads.
// The result contains the violated invariants, and a hash to compare two runs of one seed.

import { type Milliseconds, minutes } from "../../src/core/brand.ts";
import { scheduleDisruptions } from "./disruptions.ts";
import type { Violation } from "./node-invariants.ts";
import { Phases } from "./phases.ts";
import { World, type WorldOptions } from "./world.ts";

export interface RunOptions extends Partial<WorldOptions> {
  readonly seed: number;
  readonly duration?: Milliseconds;
  readonly disruptions?: number;
  /** Ends the run with the disruptions. */
  readonly onlyDisruptions?: boolean;
  /** Invariants whose violations are not recorded. */
  readonly ignored?: readonly number[];
  readonly before?: (world: World) => void;
}

export interface Outcome {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly hash: string;
  readonly writes: number;
  readonly nodeWrites: number;
  readonly serviceWrites: number;
  readonly cloudChanges: number;
  readonly volumeChanges: number;
  readonly callsInIdleHour: number;
  readonly virtualSeconds: number;
  /** The number of checked writes to the API server and requests of replicas. */
  readonly checked: number;
  /** The number of faults and changes that happened. */
  readonly disruptions: number;
  /** The last writes to Nodes and disruptions, oldest first. */
  readonly last: readonly string[];
}

export const runSimulation = async (options: RunOptions): Promise<Outcome> => {
  const { seed, duration = minutes(30) } = options;
  const world = new World({
    ...options,
    seed,
    nodes: options.nodes ?? 4 + (seed % 17),
    replicas: options.replicas ?? 1 + (seed % 2),
    flags: options.flags ?? [],
    ignored: options.ignored ?? [],
  });
  const { invariants, cloudInvariants, history, kubelets } = world;
  const phases = new Phases(world, seed);
  options.before?.(world);
  for (const name of ["web", "mail", "api"]) world.users.create(name, {});
  if (await phases.pass(minutes(2))) {
    const endDisruptions = scheduleDisruptions(world, {
      seed,
      duration,
      disruptions: options.disruptions ?? 90,
    });
    if (await phases.pass(duration)) {
      endDisruptions();
      if (options.onlyDisruptions !== true) await phases.afterDisruptions();
    }
  }
  for (const replica of [...world.replicas]) world.killReplica(replica);
  kubelets.stop();
  world.volumes?.pods.stop();
  world.volumes?.snapshots.stop();
  return {
    seed,
    violations: invariants.violations,
    hash: history.hash,
    writes: history.writes,
    nodeWrites: invariants.nodeWrites,
    serviceWrites: cloudInvariants.serviceWrites,
    cloudChanges: cloudInvariants.changes,
    volumeChanges: world.volumes?.invariants.changes ?? 0,
    callsInIdleHour: phases.callsInIdleHour,
    virtualSeconds: world.clock.monotonic() / 1000,
    checked: history.writes + world.requests,
    disruptions: world.disruptions,
    last: history.last(400),
  };
};

export const report = ({ seed, violations, last }: Outcome): string =>
  [
    `Seed ${seed} violated ${violations.length} invariants. Replay it with FAIRLEAD_SEED=${seed}. The last writes:`,
    ...last.slice(-30),
    ...violations.map(({ invariant, at, text }) => `invariant ${invariant} at ${at / 1000} s: ${text}`),
  ].join("\n");
