// Runs one seed: a cluster starts, disruptions happen, everything must converge, stay idle for an hour, and survive a restart.
// The result has the violated invariants, and a hash to compare two runs of one seed.

import { type Milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { scheduleDisruptions } from "./disruptions.ts";
import { findDeviations, mayExceedMassLimit, undeletedNodes } from "./node-deviations.ts";
import type { Violation } from "./node-invariants.ts";
import { World, type WorldOptions } from "./world.ts";

export interface RunOptions extends Partial<WorldOptions> {
  readonly seed: number;
  readonly duration?: Milliseconds;
  readonly disruptions?: number;
  /** Ends the run with the disruptions. */
  readonly onlyDisruptions?: boolean;
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
  readonly callsInIdleHour: number;
  /** The last writes to Nodes and disruptions, oldest first. */
  readonly last: readonly string[];
}

export const runSimulation = async (options: RunOptions): Promise<Outcome> => {
  const { seed } = options;
  const world = new World({
    seed,
    nodes: options.nodes ?? 4 + (seed % 17),
    replicas: options.replicas ?? 1 + (seed % 2),
    flags: options.flags ?? [],
  });
  const { clock, invariants, cloudInvariants, history, kubelets } = world;
  let callsInIdleHour = 0;
  const written = (): number =>
    invariants.nodeWrites + cloudInvariants.serviceWrites + cloudInvariants.changes;

  const pass = async (duration: Milliseconds): Promise<boolean> => {
    const end = clock.monotonic() + duration;
    while (clock.monotonic() < end && invariants.violations.length === 0) await clock.advance(seconds(5));
    return invariants.violations.length === 0;
  };
  const converges = async (): Promise<boolean> => {
    if (!(await pass(minutes(25)))) return false;
    const left = undeletedNodes(world);
    if (left.length > 0 && !mayExceedMassLimit(world)) {
      invariants.violated(13, `${left.join(", ")} should be deleted`);
    }
    for (const name of left) world.confirmDeletion(name);
    if (!(await pass(minutes(left.length > 0 ? 6 : 0)))) return false;
    const problems = [
      ...findDeviations(world),
      ...undeletedNodes(world).map((name) => `${name} should be deleted`),
    ];
    if (problems.length > 0) invariants.violated(13, problems.join("; "));
    return problems.length === 0;
  };
  const staysIdle = async (duration: Milliseconds, when: string): Promise<boolean> => {
    const writes = written();
    const ended = await pass(duration);
    if (written() > writes) invariants.violated(12, `${written() - writes} writes or cloud changes ${when}`);
    return ended && invariants.violations.length === 0;
  };
  const isIdleForAnHour = async (): Promise<boolean> => {
    const before = world.cloud.seen.length;
    if (!(await staysIdle(minutes(60), "in an idle hour"))) return false;
    callsInIdleHour = world.cloud.seen.length - before;
    const { machines, balancers, routes } = world.cloud;
    const pagesOf = (all: readonly unknown[]) => Math.max(1, Math.ceil(all.length / 5));
    const drift = 3 * pagesOf(balancers.list()) + (world.checksRoutesOften ? 8 : 1) * pagesOf(routes.list());
    // At most 60 refreshes per hour, and one lookup of shut-down machines per minute.
    const allowed = 60 + drift + 60 * Math.ceil(machines.list().length / 4);
    if (callsInIdleHour > allowed) {
      invariants.violated(11, `${callsInIdleHour} cloud calls in an idle hour, ${allowed} are allowed`);
    }
    return invariants.violations.length === 0;
  };
  const survivesRestart = async (): Promise<boolean> => {
    for (const replica of [...world.replicas]) world.killReplica(replica);
    world.startReplica();
    return staysIdle(minutes(10), "after a restart");
  };

  options.before?.(world);
  for (const name of ["web", "mail", "api"]) world.users.create(name, {});
  if (await pass(minutes(2))) {
    const endDisruptions = scheduleDisruptions(world, {
      seed,
      duration: options.duration ?? minutes(30),
      disruptions: options.disruptions ?? 90,
    });
    if (await pass(options.duration ?? minutes(30))) {
      endDisruptions();
      // Consequences of the disruptions may still follow: machines that come back, replicas that start.
      if (
        options.onlyDisruptions !== true &&
        (await pass(minutes(11))) &&
        (await converges()) &&
        (await isIdleForAnHour())
      )
        await survivesRestart();
    }
  }
  for (const replica of [...world.replicas]) world.killReplica(replica);
  kubelets.stop();
  return {
    seed,
    violations: invariants.violations,
    hash: history.hash,
    writes: history.writes,
    nodeWrites: invariants.nodeWrites,
    serviceWrites: cloudInvariants.serviceWrites,
    cloudChanges: cloudInvariants.changes,
    callsInIdleHour,
    last: history.last(400),
  };
};

export const report = ({ seed, violations, last }: Outcome): string =>
  [
    `Seed ${seed} violated ${violations.length} invariants. Replay it with FAIRLEAD_SEED=${seed}. The last writes:`,
    ...last.slice(-30),
    ...violations.map(({ invariant, at, text }) => `invariant ${invariant} at ${at / 1000} s: ${text}`),
  ].join("\n");
