// Decides which controllers run and which writes are allowed, by the Lease that each controller belongs to. There is one Lease,
// or two during a leader migration.

import { seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import { LeaderElection } from "../../kube/leader-election/leader-election.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable } from "../../runtime/abortable.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { writeMargin } from "../flags/election-timing.ts";
import type { Flags } from "../flags/table.ts";
import type { LeaderMigration, Place } from "./leader-migration.ts";
import { LeadershipSessions } from "./leadership-sessions.ts";
import { isStalled, LeaseWatch } from "./lease-watch.ts";

/** As in upstream, the process counts as healthy for this long after its Lease has expired. */
const healthTolerance = seconds(20);

export interface LeadershipOptions {
  readonly flags: Flags;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly migration: LeaderMigration | undefined;
  /** For `leader_election_master_status`. */
  readonly onSession: (lease: string, isLeader: boolean) => void;
  /** An attempt to acquire or renew a Lease failed. */
  readonly onProblem: (error: unknown) => void;
  readonly onSlowPath: (lease: string) => void;
}

export interface LeadershipRun {
  /** In the reserved lane, without a write gate. */
  readonly reserved: KubeApi;
  readonly tasks: readonly Task[];
  /** Without a write gate, because events are also written after the Lease is lost. Undefined in observe mode. */
  readonly announcements: EventRecorder | undefined;
  readonly beforeRelease: () => Promise<void>;
}

export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #leases: Readonly<Record<Exclude<Place, "elsewhere">, string | undefined>>;
  readonly #elections = new Map<string, LeaderElection>();
  #watches: readonly LeaseWatch[] = [];

  constructor(options: LeadershipOptions) {
    this.#options = options;
    const main = options.flags["leader-elect-resource-name"];
    this.#leases = { main, migrated: options.migration?.leaderName };
  }

  /** False for a controller that another component runs. */
  isHere(task: string): boolean {
    return this.#placeOf(task) !== "elsewhere";
  }

  /** Whether the controller runs under the shared Lease of a leader migration. */
  isMigrated(task: string): boolean {
    return this.#placeOf(task) === "migrated";
  }

  gateOf(place: "main" | "migrated"): WriteGate {
    return () => {
      if (!this.#isElecting) return true;
      const election = this.#elections.get(this.#leases[place] ?? "");
      return election?.mayWrite(writeMargin) ?? { reason: "leader election has not started." };
    };
  }

  /** Whether this replica holds any of its Leases: for writes that concern all controllers. */
  anyGate(): ReturnType<WriteGate> {
    const main = this.gateOf("main")();
    if (main === true || this.#options.migration === undefined) return main;
    return this.gateOf("migrated")() === true ? true : main;
  }

  /** For `/healthz`; undefined when healthy. */
  health(): string | undefined {
    return this.#names
      .map((name) => this.#elections.get(name)?.health(healthTolerance))
      .find((problem) => problem !== undefined);
  }

  /** Why the Lease watch counts as stalled; undefined while it makes progress. */
  stalled(): string | undefined {
    return this.#watches.some((watch) => isStalled(watch.idle))
      ? "the watch of the Lease is stalled"
      : undefined;
  }

  /** The tasks that watch the Leases. */
  watches(api: KubeApi, reserved: KubeApi): readonly Task[] {
    const { clock, random, log } = this.#options;
    const namespace = this.#namespace;
    this.#watches = (this.#isElecting ? this.#names : []).map((name) => {
      const onFree = (): void => this.#elections.get(name)?.nudge();
      return new LeaseWatch({ api, reserved, clock, random, log, namespace, name, onFree });
    });
    return this.#watches;
  }

  async run(run: LeadershipRun, stop: AbortSignal): Promise<void> {
    const { migration } = this.#options;
    const [main = ""] = this.#names;
    if (!this.#isElecting) {
      await runTogether(run.tasks, stop);
      return run.beforeRelease();
    }
    if (migration === undefined) return this.#runSessions(run, main, stop);
    const first = Promise.withResolvers<void>();
    await runTogether(
      [
        { name: `the Lease ${main}`, run: (signal) => this.#runSessions(run, main, signal, first.resolve) },
        {
          name: `the Lease ${migration.leaderName}`,
          // As in upstream, a replica acquires the shared Lease only after it has acquired the main one.
          run: async (signal) => {
            await abortable(first.promise, signal);
            await this.#runSessions(run, migration.leaderName, signal);
          },
        },
      ],
      stop,
    );
  }

  get #isElecting(): boolean {
    return this.#options.flags["leader-elect"];
  }

  get #namespace(): string {
    return this.#options.flags["leader-elect-resource-namespace"];
  }

  get #names(): readonly string[] {
    return Object.values(this.#leases).filter((name) => name !== undefined);
  }

  #placeOf(task: string): Place {
    return (
      (this.#isElecting ? this.#options.migration?.placeOf(task as ControllerName) : undefined) ?? "main"
    );
  }

  #leaseOf(task: string): string | undefined {
    const place = this.#placeOf(task);
    return place === "elsewhere" ? undefined : this.#leases[place];
  }

  #runSessions(run: LeadershipRun, name: string, stop: AbortSignal, onFirst?: () => void): Promise<void> {
    const { identity, log, flags, onSession, onProblem } = this.#options;
    const sessions = new LeadershipSessions({
      stop,
      identity,
      controllers: run.tasks.filter((task) => this.#leaseOf(task.name) === name),
      log,
      beforeRelease: run.beforeRelease,
      onProblem,
      exitOnLoss: flags["exit-on-lost-lease"],
      onSession: (isLeader) => {
        onSession(name, isLeader);
        this.#announce(run, name, isLeader ? "became leader" : "stopped leading");
        if (isLeader) onFirst?.();
      },
      elect: (callbacks) => {
        onSession(name, false);
        const election = new LeaderElection({
          api: run.reserved,
          clock: this.#options.clock,
          random: this.#options.random,
          namespace: this.#namespace,
          name,
          identity,
          leaseDuration: flags["leader-elect-lease-duration"],
          renewDeadline: flags["leader-elect-renew-deadline"],
          retryPeriod: flags["leader-elect-retry-period"],
          onReleased: () => log.info(`Released the Lease ${this.#namespace}/${name}`),
          onSlowPath: () => this.#options.onSlowPath(name),
          ...callbacks,
        });
        this.#elections.set(name, election);
        return election;
      },
    });
    return sessions.run();
  }

  /** Emits upstream's LeaderElection event. */
  #announce(run: LeadershipRun, name: string, what: string): void {
    const uid = this.#elections.get(name)?.uid;
    run.announcements?.record({
      component: "cloud-controller-manager",
      object: defined({
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        name,
        namespace: this.#namespace,
        uid,
      }),
      type: "Normal",
      reason: "LeaderElection",
      message: `${this.#options.identity} ${what}`,
    });
  }
}
