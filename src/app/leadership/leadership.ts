// Decides which controllers run and which writes are allowed, by the Lease that each controller belongs to. There is one Lease,
// or two during a leader migration.

import { type RemovalKind, removalKinds } from "../../controllers/kernel/removal-kinds.ts";
import type { RemovalMemory } from "../../controllers/kernel/removal-memory.ts";
import { releaseHoldAnnotation } from "../../controllers/well-known.ts";
import { minutes, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { eventTypeOf, messageIn, type Problem } from "../../core/problem.ts";
import { commandText } from "../../core/text.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import { LeaderElection } from "../../kube/leader-election/leader-election.ts";
import { joinAnnotations, type LeaseAnnotations } from "../../kube/leader-election/lease-annotations.ts";
import type { Lease } from "../../kube/objects.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable } from "../../runtime/abortable.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { writeMargin } from "../flags/election-timing.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { CurrentCaches } from "./current-caches.ts";
import { logProblem, releaseDropped, releaseHold } from "./hold-release.ts";
import { besideLeader, judgeLease, type LeaseFact, leaseFact } from "./judge-leases.ts";
import type { LeaderMigration, LeasePlace } from "./leader-migration.ts";
import { LeadershipSessions } from "./leadership-sessions.ts";
import { clusterNameChanged, LeaseClusterName } from "./lease-cluster-name.ts";
import { LeaseRemovals } from "./lease-removals.ts";
import { isStalled, LeaseWatch } from "./lease-watch.ts";
import { findLeadership, readLease } from "./read-leases.ts";

/** As in upstream, the process counts as healthy for this long after its Lease has expired. */
const healthTolerance = seconds(20);

export interface LeadershipOptions {
  readonly flags: Flags;
  readonly program: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly migration: LeaderMigration | undefined;
  /** Feeds `leader_election_master_status`. */
  readonly onSession: (lease: string, isLeader: boolean) => void;
  /** An attempt to acquire or renew a Lease failed. */
  readonly onProblem: (error: unknown) => void;
  readonly onSlowPath: (lease: string) => void;
  /** The removals that the Leases store, except in observe mode. */
  readonly removals: RemovalMemory;
  /** Whether the marks in the cloud contain the --cluster-name. */
  readonly marksNameCluster: () => boolean;
}

/** The controllers that remove objects because they are absent. */
const removers: Readonly<Record<RemovalKind, ControllerName>> = {
  nodes: "cloud-node-lifecycle",
  "load-balancers": "service",
  routes: "node-route",
  volumes: "volume",
};

type HeldPlace = Exclude<LeasePlace, "elsewhere">;

export interface LeadershipRun {
  /** The client in the reserved lane, without a write gate. */
  readonly reserved: KubeApi;
  /** The tasks of each Lease. */
  readonly tasks: Readonly<Record<HeldPlace, readonly Task[]>>;
  /** Called when a session under this Lease begins. */
  readonly onBegin: (place: HeldPlace) => void;
  readonly caches: Pick<CurrentCaches, "run" | "mayLead">;
  /** Has no write gate, because a session is also reported when it ends. Undefined in observe mode. */
  readonly announcements: EventRecorder | undefined;
  /** Records all other events on a Lease, only while it is held. Undefined in observe mode. */
  readonly events: EventRecorder | undefined;
  readonly beforeRelease: () => Promise<void>;
}

export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #leases: Readonly<Record<HeldPlace, string | undefined>>;
  readonly #elections = new Map<string, LeaderElection>();
  /** For each Lease, how often the holder of the other Lease had changed when the first session began. */
  readonly #otherChanges = new Map<HeldPlace, number>();
  /** Leases on which this process has stored its removals. */
  readonly #leasesWithRemovals = new Set<string>();
  /** Resolves when this replica has acquired a Lease, or knows that another replica holds it. */
  readonly #answered = Promise.withResolvers<void>();
  #watches: readonly LeaseWatch[] = [];
  #announcements: EventRecorder | undefined;
  #events: EventRecorder | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    const main = options.flags["leader-elect-resource-name"];
    this.#leases = { main, migrated: options.migration?.leaderName };
    const howToRelease = (kind: RemovalKind): string =>
      commandText(
        `kubectl -n ${this.#namespace} annotate lease ${this.#leaseOf(removers[kind])} ${releaseHoldAnnotation}=${kind}`,
      );
    // Observe mode removes nothing, so its reports describe what the leading manager would need.
    if (!this.#keepsRemovals) options.removals.storeWith({ store: () => Promise.resolve(), howToRelease });
    else if (this.#isElecting)
      options.removals.storeWith({
        store: (kind) => this.#renew(this.#leaseOf(removers[kind])),
        howToRelease,
      });
  }

  /** False for a controller that a different component runs. */
  isHere(task: string): boolean {
    return this.#placeOf(task) !== "elsewhere";
  }

  /** The controller's Lease: main, unless a leader migration moves the controller to the shared Lease. */
  placeOf(task: string): HeldPlace {
    const place = this.#placeOf(task);
    return place === "elsewhere" ? "main" : place;
  }

  gateOf(place: HeldPlace): WriteGate {
    return () => {
      if (!this.#isElecting) return true;
      const election = this.#elections.get(this.#leases[place] ?? "");
      return election?.mayWrite(writeMargin) ?? { reason: "leader election has not started." };
    };
  }

  /** Whether this replica holds any Lease; for writes that concern all controllers. */
  anyGate(): ReturnType<WriteGate> {
    const main = this.gateOf("main")();
    if (main === true || this.#options.migration === undefined) return main;
    return this.gateOf("migrated")() === true ? true : main;
  }

  /**
   * How often the holder of this controller's Lease has changed. Before the first session, all Leases count, because a leader
   * migration moves controllers between Leases.
   */
  formerLeadersOf(task: string): number {
    const place = this.placeOf(task);
    return this.#changesOf(place) + (this.#otherChanges.get(place) ?? this.#changesBeside(place));
  }

  #changesOf(place: HeldPlace): number {
    return this.#elections.get(this.#leases[place] ?? "")?.lease?.spec?.leaseTransitions ?? 0;
  }

  #changesBeside(place: HeldPlace): number {
    return this.#changesOf(place === "main" ? "migrated" : "main");
  }

  /** The Leases that this replica has read; empty without leader election. */
  leases(): readonly LeaseFact[] {
    return [...this.#elections.values()].flatMap(({ lease }) =>
      lease === undefined ? [] : leaseFact(lease),
    );
  }

  /** The problem that `/healthz` reports; undefined when healthy. */
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

  /**
   * Runs a watch once the election has its first answer. If a replica leads immediately, its first list begins while it leads and
   * need not be repeated.
   */
  afterFirstAnswer(watch: Task): Task {
    return {
      name: watch.name,
      run: async (signal) => {
        if (this.#isElecting) await abortable(this.#answered.promise, signal).catch(() => undefined);
        await watch.run(signal);
      },
    };
  }

  /** The tasks that watch the Leases. */
  watches(api: KubeApi): readonly Task[] {
    const { clock, random, log } = this.#options;
    const namespace = this.#namespace;
    this.#watches = (this.#isElecting ? this.#names : []).map((name) => {
      const onFree = (): void => this.#elections.get(name)?.nudge();
      return new LeaseWatch({ api, clock, random, log, namespace, name, onFree });
    });
    return this.#watches;
  }

  async run(run: LeadershipRun, stop: AbortSignal): Promise<void> {
    const { migration, log } = this.#options;
    this.#announcements = run.announcements;
    this.#events = run.events;
    if (!this.#isElecting) {
      if (this.#keepsRemovals) {
        log.info(
          "Without --leader-elect there is no Lease to store removals on, so the mass limits forget them when this process ends",
        );
        void this.#reportOtherLeader(run.reserved, stop);
      }
      await run.caches.run(run.tasks.main, stop);
      return run.beforeRelease();
    }
    if (migration === undefined) return this.#runSessions(run, "main", stop);
    const first = Promise.withResolvers<void>();
    await runTogether(
      [
        {
          name: `the Lease ${this.#leases.main}`,
          run: (signal) => this.#runSessions(run, "main", signal, first.resolve),
        },
        {
          name: `the Lease ${migration.leaderName}`,
          // As in upstream, a replica acquires the shared Lease only after the main Lease.
          run: async (signal) => {
            await abortable(first.promise, signal);
            await this.#runSessions(run, "migrated", signal);
          },
        },
      ],
      stop,
    );
  }

  /** Warns about another manager. A manager without leader election can detect it only by its Lease. */
  async #reportOtherLeader(api: KubeApi, stop: AbortSignal): Promise<void> {
    const { clock, flags, log } = this.#options;
    for (let known: string | undefined; !stop.aborted; ) {
      const lease = await readLease(api, flags, stop).catch(() => undefined);
      const leader = await findLeadership(api, flags, lease, clock, stop).catch(() => undefined);
      if (leader !== undefined && leader !== known) log.warn(messageIn(besideLeader(leader, flags)));
      known = leader;
      await sleep(clock, minutes(10), stop).catch(() => undefined);
    }
  }

  get #keepsRemovals(): boolean {
    return this.#options.flags.mode !== "observe";
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

  #placeOf(task: string): LeasePlace {
    return (
      (this.#isElecting ? this.#options.migration?.placeOf(task as ControllerName) : undefined) ?? "main"
    );
  }

  #leaseOf(task: string): string | undefined {
    const place = this.#placeOf(task);
    return place === "elsewhere" ? undefined : this.#leases[place];
  }

  #runSessions(run: LeadershipRun, place: HeldPlace, stop: AbortSignal, onFirst?: () => void): Promise<void> {
    const { identity, log, flags, onSession, onProblem } = this.#options;
    const name = this.#leases[place] ?? "";
    const sessions = new LeadershipSessions({
      stop,
      identity,
      work: (signal, stepDown) => {
        const earlier = this.#otherChanges.get(place) ?? this.#changesBeside(place);
        this.#otherChanges.set(place, earlier);
        run.onBegin(place);
        return run.caches.run(run.tasks[place], signal, stepDown);
      },
      log,
      beforeRelease: run.beforeRelease,
      onProblem,
      exitOnLoss: flags["exit-on-lost-lease"],
      onSession: (isLeader) => {
        onSession(name, isLeader);
        const text = `${identity} ${isLeader ? "became leader" : "stopped leading"}`;
        // Upstream records the same event.
        this.#reportOn(name, { severity: "notice", reason: "LeaderElection", text }, this.#announcements);
        if (isLeader) {
          this.#answered.resolve();
          onFirst?.();
        }
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
          mayLead: run.caches.mayLead,
          onReleased: () => log.info(`Released the Lease ${this.#namespace}/${name}`),
          onSlowPath: () => this.#options.onSlowPath(name),
          onRecreated: () => {
            const event = {
              severity: "warning",
              reason: "LeaseDeleted",
              text: `The Lease ${this.#namespace}/${name} was deleted. This replica created it again, with what the mass limits remember, and keeps leading. Nothing needs to be done; the audit log of the API server shows who deleted it.`,
            } as const;
            logProblem(event, log);
            this.#reportOn(name, event);
          },
          ...defined({ annotations: this.#annotationsOf(name) }),
          ...callbacks,
          onHolder: (holder) => {
            callbacks.onHolder?.(holder);
            this.#warnOfOther(election.lease);
            if (holder !== "" && holder !== identity) this.#answered.resolve();
          },
        });
        this.#elections.set(name, election);
        return election;
      },
    });
    return sessions.run();
  }

  /** Without this warning, no message shows that this replica waits for a different program. */
  #warnOfOther(lease: Lease | undefined): void {
    const leadership = lease && judgeLease(leaseFact(lease), this.#options);
    const found = leadership?.kind === "other" ? leadership.found : undefined;
    const text = found && messageIn(found);
    if (text !== undefined) this.#options.log.warn(text);
  }

  #renew(name: string | undefined): Promise<void> {
    const election = this.#elections.get(name ?? "");
    if (election !== undefined) return election.renew();
    return Promise.reject(new Error(`Leader election for the Lease ${name} has not started.`));
  }

  #annotationsOf(name: string): LeaseAnnotations | undefined {
    const { removals: memory, clock, log, identity, flags, program, marksNameCluster } = this.#options;
    if (!this.#keepsRemovals) return undefined;
    const lease = `${this.#namespace}/${name}`;
    const report = (event: Problem): void => {
      logProblem(event, log);
      this.#reportOn(name, event);
    };
    const onOmitted = (count: number): void => {
      if (count === 0) log.info(`The Lease ${lease} has room for all removals again`);
      else
        log.warn(
          `The annotations of other programs on the Lease ${lease} leave no room for ${count} of the removals that the mass limits count. Further removals wait until there is room. Remove large annotations from the Lease.`,
        );
    };
    const removals = new LeaseRemovals({
      memory,
      clock,
      identity,
      onOmitted,
      kinds: () => this.#kindsOn(name),
      onRelease: (value) => report(releaseHold(value, lease, memory)),
      onDropped: (value) => report(releaseDropped(value, lease)),
      onStored: () => this.#leasesWithRemovals.add(name),
    });
    const cluster = flags["cluster-name"];
    const onChanged = (former: string): void =>
      report(clusterNameChanged(former, cluster, { program, isInMarks: marksNameCluster() }));
    const clusterName = new LeaseClusterName({ name: cluster, identity, program, onChanged });
    return joinAnnotations([removals, clusterName]);
  }

  /** When leader migration begins, the main Lease keeps all removals until the shared Lease contains those of its controllers. */
  #kindsOn(name: string): readonly RemovalKind[] {
    const { main, migrated } = this.#leases;
    const keepsAll = name === main && migrated !== undefined && !this.#leasesWithRemovals.has(migrated);
    return keepsAll ? removalKinds : removalKinds.filter((kind) => this.#leaseOf(removers[kind]) === name);
  }

  /** Reports a problem that concerns a whole controller on its Lease. */
  report(task: ControllerName, problem: Problem): void {
    const name = this.#isElecting ? this.#leaseOf(task) : undefined;
    if (name !== undefined) this.#reportOn(name, problem);
  }

  #reportOn(name: string, problem: Problem, events = this.#events): void {
    const { uid } = this.#elections.get(name)?.lease?.metadata ?? {};
    events?.record({
      type: eventTypeOf(problem),
      reason: problem.reason,
      message: messageIn(problem),
      component: "cloud-controller-manager",
      object: defined({
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        name,
        namespace: this.#namespace,
        uid,
      }),
    });
  }
}
