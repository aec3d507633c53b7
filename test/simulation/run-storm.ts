// One seed from start to end: a cluster comes up, a storm goes over it, it settles, rests for an hour and is restarted.
// The result says what was broken, and a hash by which two runs of one seed are compared.

import { type Milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import type { Violation } from "./invariants.ts";
import { leftOver, mayBeHeld, unsettled } from "./settled.ts";
import { brew } from "./storm.ts";
import { World, type WorldOptions } from "./world.ts";

export interface RunOptions extends Partial<WorldOptions> {
  readonly seed: number;
  readonly lasts?: Milliseconds;
  readonly mishaps?: number;
  /** Without what comes after the storm. */
  readonly untilCalm?: boolean;
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
  readonly callsInQuietHour: number;
  /** The last writes to Nodes and what was done to the world, oldest first. */
  readonly last: readonly string[];
}

export const runStorm = async (options: RunOptions): Promise<Outcome> => {
  const { seed } = options;
  const world = new World({
    seed,
    nodes: options.nodes ?? 4 + (seed % 17),
    replicas: options.replicas ?? 1 + (seed % 2),
    ...(options.flags !== undefined && { flags: options.flags }),
  });
  const { clock, invariants, cloudInvariants, script, kubelets } = world;
  let callsInQuietHour = 0;
  const written = (): number =>
    invariants.nodeWrites + cloudInvariants.serviceWrites + cloudInvariants.changes;

  const pass = async (duration: Milliseconds): Promise<boolean> => {
    const end = clock.monotonic() + duration;
    while (clock.monotonic() < end && invariants.violations.length === 0) await clock.advance(seconds(5));
    return invariants.violations.length === 0;
  };
  const settles = async (): Promise<boolean> => {
    if (!(await pass(minutes(25)))) return false;
    const left = leftOver(world);
    if (left.length > 0 && !mayBeHeld(world)) {
      invariants.broken(13, `${left.join(", ")} should be deleted`);
    }
    for (const name of left) world.release(name);
    if (!(await pass(minutes(left.length > 0 ? 6 : 0)))) return false;
    const problems = [...unsettled(world), ...leftOver(world).map((name) => `${name} should be deleted`)];
    if (problems.length > 0) invariants.broken(13, problems.join("; "));
    return problems.length === 0;
  };
  const staysQuiet = async (duration: Milliseconds, when: string): Promise<boolean> => {
    const writes = written();
    const ended = await pass(duration);
    if (written() > writes) invariants.broken(12, `${written() - writes} writes or cloud changes ${when}`);
    return ended && invariants.violations.length === 0;
  };
  const rests = async (): Promise<boolean> => {
    const before = world.cloud.seen.length;
    if (!(await staysQuiet(minutes(60), "in a quiet hour"))) return false;
    callsInQuietHour = world.cloud.seen.length - before;
    const { machines, balancers, routes } = world.cloud;
    const pagesOf = (all: readonly unknown[]) => Math.max(1, Math.ceil(all.length / 5));
    const drift = 3 * pagesOf(balancers.list()) + (world.checksRoutesOften ? 8 : 1) * pagesOf(routes.list());
    // Refreshes are held below 60 an hour and looks at switched-off machines to one a minute, whatever the number.
    const allowed = 60 + drift + 60 * Math.ceil(machines.list().length / 4);
    if (callsInQuietHour > allowed) {
      invariants.broken(11, `${callsInQuietHour} cloud calls in a quiet hour, ${allowed} are allowed`);
    }
    return invariants.violations.length === 0;
  };
  const restarts = async (): Promise<boolean> => {
    for (const replica of [...world.replicas]) world.killReplica(replica);
    world.startReplica();
    return staysQuiet(minutes(10), "after a restart");
  };

  options.before?.(world);
  for (const name of ["web", "mail", "api"]) world.people.create(name, {});
  if (await pass(minutes(2))) {
    const calm = brew(world, { seed, lasts: options.lasts ?? minutes(30), mishaps: options.mishaps ?? 90 });
    if (await pass(options.lasts ?? minutes(30))) {
      calm();
      // What began in the storm may still end: a machine that comes back, a successor that starts.
      if (options.untilCalm !== true && (await pass(minutes(11))) && (await settles()) && (await rests()))
        await restarts();
    }
  }
  for (const replica of [...world.replicas]) world.killReplica(replica);
  kubelets.stop();
  return {
    seed,
    violations: invariants.violations,
    hash: script.hash,
    writes: script.writes,
    nodeWrites: invariants.nodeWrites,
    serviceWrites: cloudInvariants.serviceWrites,
    cloudChanges: cloudInvariants.changes,
    callsInQuietHour,
    last: script.last(400),
  };
};

export const report = ({ seed, violations, last }: Outcome): string =>
  [
    `Seed ${seed} broke ${violations.length} invariants; replay it with FAIRLEAD_SEED=${seed}. The last writes:`,
    ...last.slice(-30),
    ...violations.map(({ invariant, at, text }) => `invariant ${invariant} at ${at / 1000} s: ${text}`),
  ].join("\n");
