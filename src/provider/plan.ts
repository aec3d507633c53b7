// Plans: named steps as plain data, which the framework logs, shows in a dry run and applies one by one.

import type { Milliseconds } from "../core/brand.ts";
import type { Call } from "./call.ts";
import type { CloudError } from "./errors.ts";
import type { ProviderProblem } from "./reasons.ts";

/** Small strings stored on the Service for the provider, such as the id of its load balancer. */
export type Facts = Readonly<Record<string, string>>;

/** The changes that a step makes to the targets of an existing load balancer. */
export interface TargetChanges {
  /** `BalancerTarget.node` of the targets that begin to receive traffic. Adding a port to existing ports adds no target. */
  readonly adds?: readonly string[] | undefined;
  /**
   * The targets that stop receiving traffic, as the load balancer shows them: by Node, by machine key, or by address. The first
   * plan without a target names it. Removing a port or the whole load balancer removes no target.
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
   * After this step, the load balancer is gone although a Service still needs one: it failed and cannot be repaired. The next
   * plan may then create one immediately, without proof that the old one is absent. Not needed with `ending`. Never set it
   * on a step that leaves a part of the load balancer.
   */
  readonly removes?: true | undefined;
  /**
   * When this step is done, the load balancer stays in the cloud without the mark, although its Service wants it deleted, because
   * the cloud protects it against deletion. The Service then reports a release instead of a deletion. Not needed if `ending` is
   * `release`.
   * `shared`: it stays for other Services, whatever `ending` is.
   */
  readonly releases?: true | "shared" | undefined;
  /**
   * If unset, the step changes no targets, or creates the load balancer. A plan that removes more targets than Nodes ever existed
   * changes no targets: the API server may belong to another cluster, or may have been restored. A target whose machine the cloud
   * does not show is neither added nor removed.
   */
  readonly targets?: TargetChanges | undefined;
  /**
   * The smaller step that makes only the changes of targets, or `all`. With `--load-balancer-drift=report`, Nodes that join or
   * leave apply these parts and nothing else. If unset, the step cannot be split, or does not affect targets.
   */
  readonly targetsPart?: this | "all" | undefined;
  /** Set if the step changes the result of `LoadBalancers.prefetch`. The next plan then gets a new result. */
  readonly changesPrefetched?: true | undefined;
  /**
   * With `LoadBalancers.observeAgain`: the parts of the load balancer that the step changes, or depends on. They are read before
   * the step if the last reading is not recent, and after it. `listing` stands for other load balancers, such as whether one of
   * them uses a security group: a recent listing precedes the step, and a listing follows it. If unset, the step depends on the
   * whole load balancer, and a listing follows.
   */
  readonly restsOn?: readonly string[] | undefined;
}

/** Where a fact is stored on the Service: the same place as in the cloud's Go manager. */
export type FactPlace =
  /**
   * `isSetting`: users may set this annotation, and the provider's annotations have a field for it. It proves nothing about a
   * load balancer.
   */
  | { readonly annotation: string; readonly isSetting?: true }
  | { readonly label: string }
  | { readonly spec: "loadBalancerIP" };

/** The cloud is still working. The framework observes and plans again after this time; the worker is free until then. */
export interface Wait {
  readonly checkAfter: Milliseconds;
  /** Completes "waiting for …" in messages. */
  readonly waitingFor: string;
  /** Set if `LoadBalancers.prefetch` shows the state that the plan waits for. It is then called again within ten seconds. */
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
   * framework observes its effect. If this throws, all of them are checked again later. If only one of several regions fails,
   * return its operations as still running.
   */
  check(operations: readonly string[], call: Call): Promise<ReadonlyMap<string, OperationState | CloudError>>;
}

/** A target that the cloud rejects or ignores, while it accepts others. */
export interface RefusedTarget {
  /** `BalancerTarget.node`. */
  readonly node: string;
  /** The reason, in the cloud's words. */
  readonly text: string;
  /**
   * When to retry the target; the time doubles while the cloud rejects it. Default: one minute. Use this for changes that end
   * within seconds.
   */
  readonly retryAfter?: Milliseconds | undefined;
}

/** The steps for one load balancer. No steps and no `wait` means that the observed state equals the desired state. */
export interface Plan<S extends Step> {
  /** Applied in order. A step may rely on earlier steps. After the last step the framework observes and plans again. */
  readonly steps: readonly S[];
  /**
   * Set when there is nothing to do now but the desired state is not reached. Set it with an error if the cause can be fixed in
   * the cloud, so that the framework plans again after the wait. An error without a wait stays until the Service changes or the
   * next listing.
   */
  readonly wait?: Wait | undefined;
  /** Reported as events and conditions on the Services. */
  readonly problems?: readonly ProviderProblem[] | undefined;
  /**
   * Desired targets that the cloud lists as rejected. The steps are not applied: the framework plans again without these targets.
   */
  readonly refused?: readonly RefusedTarget[] | undefined;
}

/** Facts to store on the Service, by name; undefined removes a fact. */
export type FactChanges = Readonly<Record<string, string | undefined>>;

/** The outcome of a completed step, with the facts to store on the Service before the next action. */
export interface Done {
  readonly done: true;
  /**
   * The load balancer that was listed is gone: a lookup that began after its deletion does not find it, or the response shows it
   * without the mark. One further listing without it then completes the deletion of the Service. A 404 response to the deletion
   * itself is no such proof, because it contradicts the listing. If unset, two listings must prove it, 30 s apart.
   */
  readonly isGone?: true | undefined;
  readonly remember?: FactChanges | undefined;
  /** See `StepOutcome`. */
  readonly refused?: readonly RefusedTarget[] | undefined;
}

/** The state of an operation: done, or still running. */
export type OperationState = Done | ({ readonly done: false } & Wait);

/**
 * The result of `apply`: done, or in progress. While it is in progress, `operation` is the id for `Pending.check`, if there is one.
 *
 * `remember` is stored before the next step, and before the first check of the operation: after a restart, the plan finds the id of
 * the new object in `facts`. The process may stop before it is stored, so an object must be found by its mark, name or client token
 * too, and must never be created twice.
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
