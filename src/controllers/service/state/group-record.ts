// What is remembered about one group of Services that share a load balancer: a record that everything may read and only
// `GroupStates.commit` changes. One table defines how long each part of it lasts.

import { RecentSteps } from "../../../cloud/reads-lag.ts";
import { type Milliseconds, milliseconds, minutes, type ServiceUID, seconds } from "../../../core/brand.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Proof } from "../../absence/proof.ts";
import { BalancerEvidence } from "./balancer-evidence.ts";

/** The kinds of changes to a load balancer. Upstream has the first three. */
export type Change = "ensure" | "update" | "delete" | "release";

/** The desired state of a group, short enough to be stored for every group. */
export interface Fingerprint {
  readonly targets: string;
  /** Everything except the targets. */
  readonly spec: string;
  /** The targets of each Service. All Services with the same targets share one list. */
  readonly lists: readonly (readonly BalancerTarget[])[];
}

/** Why the absence of a load balancer or Service has no consequences yet. */
export interface Hold {
  readonly reason: string;
  readonly message: string;
  /** An operator can release it. */
  readonly isReleasable?: true;
}

/** A Service that is gone from the API although Fairlead did not remove its finalizer. */
export interface GoneService {
  readonly key: string;
  /** When it was missing first (monotonic). */
  readonly at: number;
  /** Its deletion, or a change after which it needs no load balancer, was seen before. */
  readonly isDeletionSeen: boolean;
}

/** The step of an operation, hashed; which owners it serves, and which have left when it is done. A removal is no progress. */
export interface OperationOf {
  readonly step: string;
  readonly serving: readonly ServiceUID[];
  readonly leaving: readonly ServiceUID[];
  /** It removes the load balancer of those that it serves, to create another one. */
  readonly isRemoval: boolean;
  readonly isProgress: boolean;
  /** It completes a load balancer that was absent. */
  readonly isCreation: boolean;
}

/** The last observation, if it may spare a listing of everything, or another reading in depth. */
export interface KeptObservation {
  readonly balancer: ObservedLoadBalancer;
  /** When the listing began on which it is based, and when its mark was read (monotonic). */
  readonly listedAt: number;
  readonly markedAt: number;
  /** When all of it was read in depth (monotonic), and until when that may prove that nothing is to be done. */
  readonly readAt: number;
  readonly recalledUntil: number;
  /** The parts that are read again before the next plan. */
  readonly outdated: readonly string[];
}

/** The load balancer is complete: without a change, it is planned again only now and then. */
export interface Rest {
  /** What the latest listing had for the group when it was observed. An object that the listing repeats has not changed. */
  readonly listed: ObservedLoadBalancer;
  /** Since when (monotonic). */
  readonly since: number;
}

/** Which one of several load balancers with the mark of a group is managed. */
export interface ManagedBalancer {
  /** Undefined: the one with the addresses of the Services, which this process has not seen yet. */
  readonly name?: string | undefined;
  /** The listings that show only another one with the mark of the group. */
  readonly proofs?: readonly Proof[];
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What stages and triggers may read. */
export interface GroupState {
  readonly group: string;
  /** Keys of the Services in the group. */
  readonly members: ReadonlySet<string>;
  /** Owners that have left but may still have a load balancer. */
  readonly pendingReleases: ReadonlySet<ServiceUID>;
  /** Owners with a pending release that are gone from the API. */
  readonly goneServices: ReadonlyMap<ServiceUID, GoneService>;
  /** The change in progress. */
  readonly change: Change | undefined;
  /** The change whose steps failed in the last reconcile. */
  readonly failedChange: Change | undefined;
  /** The last completed desired state; any other difference is drift. */
  readonly lastCompleted: Fingerprint | undefined;
  /** The desired state without targets that was last completed, or reported as drift. */
  readonly knownSpec: string | undefined;
  /** Failures and changes since the last progress, which decide delays. */
  readonly progress: Pick<GroupProgress, "failures" | "changeDelay">;
  /** Since when it has waited for the cloud (monotonic); checks become rarer. */
  readonly waitingSince: number | undefined;
  /** Until then (monotonic) or until a success, only a change of a Service enqueues the group. */
  readonly backoffUntil: number | undefined;
  /** When a newer listing was requested (monotonic), until it has arrived. */
  readonly listingRequestedAt: number | undefined;
  /** Once this time has come (monotonic), an older listing is outdated: a refused target is tried again. */
  readonly listingDueAt: number | undefined;
  /** When the last request for a creation was sent whose outcome is unknown (monotonic): it may take effect later. */
  readonly uncertainCreationAt: number | undefined;
  /** When the group last changed the cloud (monotonic); older listings are outdated. */
  readonly changedAt: number | undefined;
  /** Set while the group is complete. */
  readonly rest: Rest | undefined;
  /** Ends with a change that only a listing can show. */
  readonly kept: KeptObservation | undefined;
  /** When a user changed a Service after the last observation (monotonic), so that all of the load balancer is read again. */
  readonly editedAt: number | undefined;
  /** Steps that reads may not show yet. */
  readonly recentSteps: RecentSteps;
  /** What is known about the existence of the load balancer. */
  readonly evidence: Pick<BalancerEvidence, "owners" | "needsProof" | "uids" | "get" | "isRemoved"> & {
    readonly creations: Pick<BalancerEvidence["creations"], "countOf" | "has">;
  };
  /** The step of the last operation. */
  readonly operation: OperationOf | undefined;
  /** Why nothing is created or removed, for reports; undefined while nothing is on hold. */
  readonly hold: Hold | undefined;
  /** Further load balancers with the mark of the group, in the last observation. */
  readonly duplicates: readonly ObservedLoadBalancer[];
  /**
   * The load balancer of the last observation, and since which listing only another one is shown. Undefined after a change that may have
   * given it another name, or replaced it.
   */
  readonly managed: ManagedBalancer | undefined;
  /** The Services have the condition that their operation cannot be checked. */
  readonly hasOperationProblem: boolean;
  /** Observe mode: the last reported steps, so that each plan is reported once. */
  readonly reportedSteps: string | undefined;
}

/** Only the files of this folder know it. */
export type GroupRecord = Writable<Omit<GroupState, "members" | "pendingReleases" | "goneServices">> & {
  readonly members: Set<string>;
  readonly pendingReleases: Set<ServiceUID>;
  readonly goneServices: Map<ServiceUID, GoneService>;
  readonly evidence: BalancerEvidence;
  progress: GroupProgress;
};

export function newGroup(group: string): GroupRecord {
  return {
    group,
    members: new Set(),
    pendingReleases: new Set(),
    goneServices: new Map(),
    change: undefined,
    failedChange: undefined,
    lastCompleted: undefined,
    knownSpec: undefined,
    progress: new GroupProgress(),
    waitingSince: undefined,
    backoffUntil: undefined,
    listingRequestedAt: undefined,
    listingDueAt: undefined,
    uncertainCreationAt: undefined,
    changedAt: undefined,
    rest: undefined,
    kept: undefined,
    editedAt: undefined,
    recentSteps: new RecentSteps(),
    evidence: new BalancerEvidence(),
    operation: undefined,
    hold: undefined,
    duplicates: [],
    managed: undefined,
    hasOperationProblem: false,
    reportedSteps: undefined,
  };
}

export function isBackingOff({ backoffUntil }: GroupState, now: number): boolean {
  return backoffUntil !== undefined && backoffUntil > now;
}

/**
 * - `session`: this replica takes the Lease. Another one may have made the next difference, so it is not drift.
 * - `gone`: the cloud no longer has a load balancer for the group; the next one will be new.
 * - `left`: no Service is left, and only releases are pending.
 */
export type GroupReset = "session" | "gone" | "left";

interface Lifetime {
  /** What ends it in a process that goes on. Nothing: it ends with the record, when the group has no Service and no pending release. */
  readonly endsWith: readonly GroupReset[];
  readonly afterRestart: string;
}

/** How long each part of the record lasts. Nothing of it survives a restart. */
export const groupLifetimes: Readonly<Record<Exclude<keyof GroupState, "group">, Lifetime>> = {
  members: { endsWith: [], afterRestart: "The Services are assigned again." },
  pendingReleases: { endsWith: [], afterRestart: "Found again by the marks in the next listing." },
  goneServices: { endsWith: [], afterRestart: "Their load balancers are orphans." },
  change: { endsWith: ["session", "gone", "left"], afterRestart: "Its event is published again." },
  failedChange: { endsWith: ["gone", "left"], afterRestart: "The event calls it a sync, not an update." },
  lastCompleted: {
    endsWith: ["session", "gone", "left"],
    afterRestart: "The next difference is not drift.",
  },
  knownSpec: {
    endsWith: ["gone", "left"],
    afterRestart: "--load-balancer-drift=report applies no difference of a complete Service.",
  },
  progress: { endsWith: ["gone", "left"], afterRestart: "Counted from zero." },
  waitingSince: { endsWith: ["gone", "left"], afterRestart: "Checked more often again." },
  backoffUntil: { endsWith: ["gone", "left"], afterRestart: "Retried early." },
  listingRequestedAt: { endsWith: ["session"], afterRestart: "Requested again." },
  listingDueAt: { endsWith: [], afterRestart: "A listing comes first." },
  uncertainCreationAt: { endsWith: [], afterRestart: "A refresh finds what it created." },
  changedAt: { endsWith: [], afterRestart: "A listing comes first." },
  rest: { endsWith: ["session", "gone", "left"], afterRestart: "Planned once." },
  kept: { endsWith: ["session", "gone", "left"], afterRestart: "A listing comes first." },
  editedAt: { endsWith: ["session", "gone", "left"], afterRestart: "A listing comes first." },
  recentSteps: { endsWith: [], afterRestart: "A step may be sent again." },
  evidence: { endsWith: [], afterRestart: "Read from the Services and the next listings." },
  operation: { endsWith: ["left"], afterRestart: "Two listings prove what it has done." },
  hold: { endsWith: [], afterRestart: "Found again." },
  duplicates: { endsWith: ["left"], afterRestart: "Observed again." },
  managed: {
    endsWith: ["session", "gone", "left"],
    afterRestart: "The one with the address of a Service is managed, or else the first one that is observed.",
  },
  hasOperationProblem: { endsWith: ["left"], afterRestart: "The condition stays until the next write." },
  reportedSteps: { endsWith: ["left"], afterRestart: "Reported once more." },
};

/** Gives what ends now its first value. */
export function resetGroup(record: GroupRecord, event: GroupReset): void {
  const fresh: Readonly<Record<string, unknown>> = { ...newGroup(record.group) };
  const ended = Object.entries(groupLifetimes).filter(([, { endsWith }]) => endsWith.includes(event));
  Object.assign(record, Object.fromEntries(ended.map(([name]) => [name, fresh[name]])));
}

/** Beyond the number of planned steps. */
const immediateChanges = 10;
const firstChangeDelay: Milliseconds = seconds(2);
const maxChangeDelay: Milliseconds = minutes(5);

class GroupProgress {
  #failures = 0;
  #changes = 0;
  #mostSteps = 0;
  /** The steps applied since the last completion, hashed. */
  readonly #applied = new Set<string>();

  /** Failed reconciles since the last step that succeeded, whatever waits lie between; the third writes a condition. */
  get failures(): number {
    return this.#failures;
  }

  noteFailure(): void {
    this.#failures += 1;
  }

  /** A reconcile ended, and nothing is left to do. */
  endFailures(): void {
    this.#failures = 0;
  }

  /** A reconcile has this many steps to apply. */
  notePlan(steps: number): void {
    this.#mostSteps = Math.max(this.#mostSteps, steps);
  }

  /** A reconcile has changed the cloud. */
  noteChange(): void {
    this.#changes += 1;
  }

  /** The step was completed. */
  noteCompleted(step: string): void {
    if (this.#applied.has(step)) return;
    this.#applied.add(step);
    this.#failures = 0;
  }

  /** The load balancer is as desired, or another one is desired. */
  restart(): void {
    this.#changes = 0;
    this.#mostSteps = 0;
    this.#applied.clear();
  }

  /** The delay before the next plan. Plans that never converge must not flood the cloud. */
  get changeDelay(): Milliseconds {
    const excess = this.#changes - this.#mostSteps - immediateChanges;
    if (excess <= 0) return milliseconds(0);
    return milliseconds(Math.min(maxChangeDelay, firstChangeDelay * 2 ** Math.min(excess - 1, 20)));
  }
}

export interface MassHold {
  /** Load balancers that exist or existed. */
  readonly managed: number;
  /** Absent from the cloud. */
  readonly missing: number;
  /** Services that vanished from the API. Several may share a load balancer. */
  readonly vanished: number;
  /** Removed or created again within the window. */
  readonly recent: number;
  readonly allowed: number;
  readonly howToRelease: string;
}
