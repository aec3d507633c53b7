// The checks after the disruptions of a run: everything converges, stays idle for an hour, and survives a restart, reloads, an
// ordinary day and the failure of one cloud operation.

import { type Milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { configurationFile, invalidLines } from "./configuration-file.ts";
import { FailingOperation } from "./failing-operation.ts";
import { findDeviations, hasWitness, mayExceedMassLimit, undeletedNodes } from "./node-deviations.ts";
import { passOrdinaryDay } from "./ordinary-day.ts";
import { silentlyHeld } from "./visible-holds.ts";
import { endsEveryWait } from "./waits.ts";
import type { World } from "./world.ts";

export class Phases {
  readonly #world: World;
  readonly #seed: number;
  callsInIdleHour = 0;

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#seed = seed;
  }

  /** Whether no invariant was violated meanwhile. */
  async pass(duration: Milliseconds): Promise<boolean> {
    const { clock, invariants } = this.#world;
    const end = clock.monotonic() + duration;
    while (clock.monotonic() < end && invariants.violations.length === 0) {
      await clock.advance(seconds(5));
      this.#world.observe();
    }
    return invariants.violations.length === 0;
  }

  async afterDisruptions(): Promise<void> {
    this.#world.volumes?.snapshots.deleteClaimsWithoutSource();
    // Consequences of the disruptions may still follow: machines that come back, replicas that start.
    if (
      (await this.pass(minutes(11))) &&
      (await this.#converges()) &&
      (await this.#isIdle()) &&
      (await this.#survivesRestart()) &&
      (await endsEveryWait(this.#world, this.#seed, (duration) => this.pass(duration))) &&
      (await this.#survivesReloads()) &&
      (await passOrdinaryDay(this.#world, (duration) => this.pass(duration)))
    ) {
      await this.#isolatesFailures();
    }
  }

  async #converges(): Promise<boolean> {
    const world = this.#world;
    const { invariants } = world;
    if (!(await this.pass(minutes(25)))) return false;
    const left = undeletedNodes(world);
    if (left.length > 0 && !mayExceedMassLimit(world) && hasWitness(world)) {
      invariants.violated(13, `${left.join(", ")} should be deleted`);
    }
    const silent = silentlyHeld(world, left);
    if (silent.length > 0) invariants.violated(23, `${silent.join(", ")} are held, and no event says so`);
    // An operator releases what the mass limits hold, and confirms the deletion of Nodes.
    for (const name of left) world.confirmDeletion(name);
    // Volumes may be held when their machines are gone at last, and routes when no Node is left that needs one.
    for (let releases = 2; releases > 0; releases -= 1) {
      if (left.length === 0 && findDeviations(world).length === 0) continue;
      world.releaseHolds();
      if (!(await this.pass(minutes(12)))) return false;
    }
    const problems = [
      ...findDeviations(world),
      ...undeletedNodes(world).map((name) => `${name} should be deleted`),
    ];
    if (problems.length > 0) invariants.violated(13, problems.join("; "));
    return problems.length === 0;
  }

  async #isIdle(): Promise<boolean> {
    const world = this.#world;
    const before = world.cloud.seen.length;
    // Nothing happens in it, and it takes a third of a run's time.
    if (this.#seed % 4 !== 0) return this.#staysIdle(minutes(10), "in idle minutes");
    if (!(await this.#staysIdle(minutes(60), "in an idle hour"))) return false;
    this.callsInIdleHour = world.cloud.seen.length - before;
    const { machines, balancers, routes } = world.cloud;
    const pagesOf = (all: readonly unknown[]) => Math.max(1, Math.ceil(all.length / 5));
    const drift = 3 * pagesOf(balancers.list()) + (world.checksRoutesOften ? 8 : 1) * pagesOf(routes.list());
    // At most 60 refreshes per hour, and one lookup of shut-down machines per minute.
    const allowed = 60 + drift + 60 * Math.ceil(machines.list().length / 4);
    if (this.callsInIdleHour > allowed) {
      world.invariants.violated(
        11,
        `${this.callsInIdleHour} cloud calls in an idle hour, ${allowed} are allowed`,
      );
    }
    return world.invariants.violations.length === 0;
  }

  async #survivesRestart(): Promise<boolean> {
    const world = this.#world;
    for (const replica of [...world.replicas]) world.killReplica(replica);
    world.startReplica();
    return this.#staysIdle(minutes(10), "after a restart");
  }

  /** Checks 20: a reload writes nothing, lists nothing again, and keeps the Lease. */
  async #survivesReloads(): Promise<boolean> {
    const world = this.#world;
    const reload = async (apply: () => void, what: string): Promise<boolean> => {
      const before = this.#untouchedByReloads();
      apply();
      const isIdle = await this.#staysIdle(seconds(40), `after ${what}`);
      const after = this.#untouchedByReloads();
      for (const [name, value] of Object.entries(before)) {
        if (after[name] === value) continue;
        world.invariants.violated(20, `after ${what}, ${name} changed from ${value} to ${after[name]}`);
      }
      return isIdle && world.invariants.violations.length === 0;
    };
    const invalid = configurationFile({}, invalidLines[this.#seed % invalidLines.length] ?? "  x: 1\n");
    const steps: readonly (readonly [string, () => void])[] = [
      ["a reload", () => world.reconfigure({ "concurrent-service-syncs": "7" }, () => 0)],
      ["a second reload", () => world.reconfigure({ "removal-limit": "15%" }, () => 0)],
      [
        "an invalid file",
        () => {
          for (const replica of world.replicas) replica.configure(invalid, "file");
        },
      ],
      ["the last reload", () => world.reconfigure({}, () => 0)],
    ];
    for (const [what, apply] of steps) if (!(await reload(apply, what))) return false;
    return true;
  }

  #untouchedByReloads(): Readonly<Record<string, unknown>> {
    const { server, listings } = this.#world;
    const lease = server.store.get("leases", "kube-system", "cloud-controller-manager");
    const events = server.store.list("events") as unknown as readonly { readonly count?: number }[];
    return {
      "the holder of the Lease": lease?.spec?.["holderIdentity"],
      "the number of Lease transitions": lease?.spec?.["leaseTransitions"],
      "the number of listings": listings,
      "the number of events": events.reduce((sum, { count = 1 }) => sum + count, 0),
    };
  }

  /** Checks 21: while one operation of the cloud fails, everything that does not need it works. */
  async #isolatesFailures(): Promise<void> {
    const failing = new FailingOperation(this.#world, this.#seed);
    failing.start();
    if (await this.pass(minutes(3))) failing.check();
  }

  async #staysIdle(duration: Milliseconds, when: string): Promise<boolean> {
    const { invariants } = this.#world;
    const writes = this.#written();
    const ended = await this.pass(duration);
    const more = this.#written() - writes;
    if (more > 0) invariants.violated(12, `${more} writes or cloud changes ${when}`);
    return ended && invariants.violations.length === 0;
  }

  #written(): number {
    const { invariants, cloudInvariants } = this.#world;
    const aboutVolumes = this.#world.volumes?.invariants.changes ?? 0;
    return invariants.nodeWrites + cloudInvariants.serviceWrites + cloudInvariants.changes + aboutVolumes;
  }
}
