// Who may work: which Lease stands for which controller, the gates before their writes, the terms in which they run, and
// what is told about it. There is one Lease, or two while controllers move from one manager to another.

import { seconds } from "../../core/brand.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import { LeaderElection } from "../../kube/leader-election/lease.ts";
import type { WriteGate } from "../../kube/requests/request.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable } from "../../runtime/abortable.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { writeMargin } from "../flags/election-timing.ts";
import type { Flags } from "../flags/table.ts";
import type { LeaderMigration, Place } from "./leader-migration.ts";
import { runLeadershipSessions } from "./leadership-sessions.ts";
import { isStill, type LeaseWatch, leaseWatch } from "./lease-watch.ts";

/** Upstream's: the process counts as well until its Lease has been over for so long. */
const healthTolerance = seconds(20);

export interface LeadershipOptions {
  readonly flags: Flags;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly migration?: LeaderMigration;
  /** `leader_election_master_status`. */
  readonly onSession: (lease: string, isOurs: boolean) => void;
  /** An attempt at a Lease failed. */
  readonly onProblem: (error: unknown) => void;
  readonly onSlowPath?: (lease: string) => void;
}

export interface LeadershipRun {
  /** In the reserved lane and without a gate. */
  readonly reserved: KubeApi;
  readonly tasks: readonly Task[];
  /** Not gated: the loss of a Lease is told after it. */
  readonly announcements?: EventRecorder;
  readonly beforeRelease: () => Promise<void>;
}

export type Leadership = ReturnType<typeof createLeadership>;

export function createLeadership(options: LeadershipOptions) {
  const { flags, identity, clock, random, log, migration } = options;
  const namespace = flags["leader-elect-resource-namespace"];
  const main = flags["leader-elect-resource-name"];
  const isElecting = flags["leader-elect"];
  const elections = new Map<string, LeaderElection>();

  const placeOf = (task: string): Place =>
    (isElecting ? migration?.placeOf(task as ControllerName) : undefined) ?? "main";
  const leases: Readonly<Partial<Record<Place, string>>> = {
    main,
    ...(migration !== undefined && { migrated: migration.leaderName }),
  };
  const gateOf =
    (place: Place): WriteGate =>
    () => {
      if (!isElecting) return true;
      const election = elections.get(leases[place] ?? "");
      return election?.mayWrite(writeMargin) ?? { reason: "nobody was elected yet." };
    };

  const announce = (run: LeadershipRun, name: string, what: string): void => {
    const uid = elections.get(name)?.uid;
    run.announcements?.record({
      component: "cloud-controller-manager",
      object: {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        name,
        namespace,
        ...(uid !== undefined && { uid }),
      },
      type: "Normal",
      reason: "LeaderElection",
      message: `${identity} ${what}`,
    });
  };

  const sessions = (run: LeadershipRun, name: string, stop: AbortSignal, onFirst?: () => void) =>
    runLeadershipSessions({
      stop,
      identity,
      controllers: run.tasks.filter((task) => leases[placeOf(task.name)] === name),
      log,
      beforeRelease: run.beforeRelease,
      onProblem: options.onProblem,
      exitOnLoss: flags["exit-on-lost-lease"],
      onSession: (isOurs) => {
        options.onSession(name, isOurs);
        announce(run, name, isOurs ? "became leader" : "stopped leading");
        if (isOurs) onFirst?.();
      },
      elect: (callbacks) => {
        options.onSession(name, false);
        const election = new LeaderElection({
          api: run.reserved,
          clock,
          random,
          namespace,
          name,
          identity,
          leaseDuration: flags["leader-elect-lease-duration"],
          renewDeadline: flags["leader-elect-renew-deadline"],
          retryPeriod: flags["leader-elect-retry-period"],
          onReleased: () => log.info(`The Lease ${namespace}/${name} was given up`),
          onSlowPath: () => options.onSlowPath?.(name),
          ...callbacks,
        });
        elections.set(name, election);
        return election;
      },
    });

  let watches: readonly LeaseWatch[] = [];
  const names = migration === undefined ? [main] : [main, migration.leaderName];

  return {
    /** False for a controller that another component runs. */
    isHere: (task: string): boolean => placeOf(task) !== "elsewhere",
    gateOf,
    /** For what is said about the work of every controller. */
    anyGate: (): ReturnType<WriteGate> => {
      const answers = [gateOf("main")(), ...(migration === undefined ? [] : [gateOf("migrated")()])];
      return answers.includes(true) ? true : (answers[0] ?? true);
    },
    /** Whether this controller works under another Lease than the rest. */
    isMigrated: (task: string): boolean => placeOf(task) === "migrated",
    /** What `/healthz` says of leader election; undefined when all is well. */
    health: (): string | undefined =>
      names.map((name) => elections.get(name)?.health(healthTolerance)).find((each) => each !== undefined),
    /** What stands still although it never rests, for a watchdog. */
    stalled: (): string | undefined =>
      watches.some(({ idle }) => isStill(idle())) ? "the watch of the Lease stands still" : undefined,
    watches: (api: KubeApi, reserved: KubeApi): readonly Task[] => {
      watches = isElecting
        ? names.map((name) =>
            leaseWatch({
              api,
              reserved,
              clock,
              random,
              log,
              namespace,
              name,
              onFree: () => elections.get(name)?.nudge(),
            }),
          )
        : [];
      return watches;
    },
    run: async (run: LeadershipRun, stop: AbortSignal): Promise<void> => {
      if (!isElecting) {
        await runTogether(run.tasks, stop);
        return run.beforeRelease();
      }
      if (migration === undefined) return sessions(run, main, stop);
      const first = Promise.withResolvers<void>();
      await runTogether(
        [
          { name: `the Lease ${main}`, run: (signal) => sessions(run, main, signal, first.resolve) },
          {
            name: `the Lease ${migration.leaderName}`,
            // As upstream: nobody takes the second Lease without having held the first.
            run: async (signal) => {
              await abortable(first.promise, signal);
              await sessions(run, migration.leaderName, signal);
            },
          },
        ],
        stop,
      );
    },
  };
}
