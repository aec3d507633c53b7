// Plans: named steps as plain data, which the framework logs, shows in a dry run and applies one by one.

import type { Milliseconds } from "../core/brand.ts";
import type { Call } from "./call.ts";
import type { CloudError } from "./errors.ts";
import type { ProviderProblem } from "./reasons.ts";

/** Small strings stored on the Service for the provider, such as the id of its load balancer. */
export type Facts = Readonly<Record<string, string>>;

/** What a step changes in the targets of a load balancer that exists. */
export interface TargetChanges {
  /** `BalancerTarget.node` of those to which it begins to forward. A port that is added to others adds none. */
  readonly adds?: readonly string[] | undefined;
  /**
   * Those to which it stops forwarding, as the load balancer shows them: by Node, by the key of the machine, or by address. The first plan
   * without them names them. A port that is removed, and the end of the load balancer, remove none.
   */
  readonly removes?: readonly string[] | undefined;
}

/**
 * One change. `do` names it in logs, events, metrics and dry runs; further members are what `apply` needs, as plain data. Two steps with
 * the same data are the same step.
 */
export interface Step {
  readonly do: string;
  /** The name or id of the object that is changed, for messages. */
  readonly on?: string | undefined;
  /**
   * When this step is done, the load balancer is gone, although a Service still needs one: it failed and cannot be repaired. The next
   * plan may then create one immediately, without proof that the old one is absent. Not needed with `ending`. Never set it
   * on a step that leaves a part of the load balancer.
   */
  readonly removes?: true | undefined;
  /**
   * When this step is done, the load balancer stays in the cloud without the mark, although its Service wants it deleted: the cloud
   * protects it against deletion. The Service then reports a release, and not a deletion. Not needed if `ending` is `release`.
   */
  readonly releases?: true | undefined;
  /**
   * Absent: the step changes no targets, or creates the load balancer. A plan that removes more targets than there were ever Nodes changes
   * none: the API server may be that of another cluster, or restored. A target whose machine the cloud does not show is neither added nor
   * removed.
   */
  readonly targets?: TargetChanges | undefined;
  /**
   * The smaller step that makes only the changes of targets, or `all`. With `--load-balancer-drift=report`, Nodes that join or leave apply
   * these parts and nothing else. Absent: the step cannot be split, or has nothing to do with targets.
   */
  readonly targetsPart?: this | "all" | undefined;
  /** The step changes what `LoadBalancers.prefetch` returns: the next plan gets a new result. */
  readonly changesPrefetched?: true | undefined;
  /**
   * With `LoadBalancers.observeAgain`: the parts of the load balancer that the step changes, or depends on. They are read before the step if
   * the last reading is not recent, and after it. `listing` stands for other load balancers, such as whether one of them uses a security
   * group: a recent listing precedes the step, and a listing follows it. Absent: the step rests on all of the load balancer, and a listing
   * follows.
   */
  readonly restsOn?: readonly string[] | undefined;
}

/** Where a fact is stored on the Service: where the cloud's Go manager stores it. */
export type FactPlace =
  /** `isSetting`: users set it too, and the annotations of the provider have a field for it. It says nothing about a load balancer. */
  | { readonly annotation: string; readonly isSetting?: true }
  | { readonly label: string }
  | { readonly spec: "loadBalancerIP" };

/** The cloud is still working. The framework observes and plans again after this time; the worker is free until then. */
export interface Wait {
  readonly checkAfter: Milliseconds;
  /** Completes "waiting for …" in messages. */
  readonly waitingFor: string;
  /** `LoadBalancers.prefetch` shows what the plan waits for, and is called again within ten seconds. */
  readonly isPrefetched?: true | undefined;
}

/**
 * Checks long-running operations by the ids that `StepOutcome.operation` returned. Only for clouds where the object itself does
 * not show whether work is in progress or has failed.
 */
export interface Pending {
  /** The maximum number of operations per `check`. */
  readonly limit: number;
  /**
   * The state of each operation, or the error with which it failed. An operation that is missing from the result is lost, and the
   * framework observes what it has done. If this throws, all of them are checked again later. If only one of several regions fails,
   * return its operations as still running.
   */
  check(operations: readonly string[], call: Call): Promise<ReadonlyMap<string, OperationState | CloudError>>;
}

/** A target that the cloud does not accept, or ignores, while it accepts the others. */
export interface RefusedTarget {
  /** `BalancerTarget.node`. */
  readonly node: string;
  /** Why, in the cloud's words. */
  readonly text: string;
  /** When to try it again; the time doubles while the cloud refuses it. Default: one minute. For what ends within seconds. */
  readonly retryAfter?: Milliseconds | undefined;
}

/**
 * What to do for one load balancer. No steps and no `wait` means that the observed state is the desired one.
 */
export interface Plan<S extends Step> {
  /** Applied in order. A step may rely on those before it. After the last one the framework observes and plans again. */
  readonly steps: readonly S[];
  /**
   * Set when there is nothing to do now but the desired state is not reached. Beside an error, its cause may be repaired in the
   * cloud. Without it, an error waits for a change of the Service or for the next listing.
   */
  readonly wait?: Wait | undefined;
  /** Published as events and conditions of the Services. */
  readonly problems?: readonly ProviderProblem[] | undefined;
  /** Desired targets that the cloud lists as rejected. The steps are not applied: the framework plans again without these. */
  readonly refused?: readonly RefusedTarget[] | undefined;
}

/** Facts to store on the Service, by name; undefined removes a fact. */
export type FactChanges = Readonly<Record<string, string | undefined>>;

/** What is done, with the facts to store on the Service before anything else is done. */
export interface Done {
  readonly done: true;
  /**
   * The load balancer that was listed is gone: a lookup that began after its deletion does not find it, or the response shows it without
   * the mark. One more listing without it then completes the deletion of the Service. A 404 to the deletion itself does not say that: it
   * contradicts the listing. Absent: two listings must prove it, 30 s apart.
   */
  readonly isGone?: true | undefined;
  readonly remember?: FactChanges | undefined;
  /** See `StepOutcome`. */
  readonly refused?: readonly RefusedTarget[] | undefined;
}

/** The state of an operation: done, or still running. */
export type OperationState = Done | ({ readonly done: false } & Wait);

/**
 * The result of `apply`: done, or in progress. In progress, `operation` is the id for `Pending.check`, if there is one.
 *
 * `remember` is stored before the next step, and before the operation is checked for the first time: after a restart the plan
 * finds the id of what is being created in `facts`. The process may stop before it is stored, so an object must also be found by
 * its mark, name or client token, and never be created twice.
 *
 * `refused` are targets without which the step was applied. The next plans do not contain them, so the load balancer counts as
 * converged; the Service reports them. They are desired again when the Node, the Service or the settings change, after a restart, and after
 * a time that grows from one minute to one hour. The provider needs no memory of them.
 */
export type StepOutcome =
  | Done
  | ({
      readonly done: false;
      readonly operation?: string | undefined;
      readonly remember?: FactChanges | undefined;
      readonly refused?: readonly RefusedTarget[] | undefined;
    } & Wait);
