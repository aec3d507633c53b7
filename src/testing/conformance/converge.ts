// Drives a provider's load balancers to their desired state: observe, plan, apply, save the facts, repeat. Applies
// the framework's rules for a single plan (lookups, targets, rejections), without backoff and evidence.

import {
  afterSteps,
  allParts,
  markPart,
  needsLookup,
  type Parts,
} from "../../cloud/inventory/balancer-observation.ts";
import { changedTargets, namesOf, targetsPartOf } from "../../controllers/service/targets/changed-targets.ts";
import { type Milliseconds, milliseconds, type ServiceUID } from "../../core/brand.ts";
import { CloudError } from "../../provider/errors.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Plan, RefusedTarget, Step } from "../../provider/plan.ts";
import {
  commonReasons,
  type DeclaredReasons,
  meaningsOf,
  type ProviderProblem,
} from "../../provider/reasons.ts";
import type { Lab } from "./lab.ts";
import {
  adoptableOf,
  type Balancers,
  type Desired,
  listBalancers,
  saveFacts,
  sharedPrefetch,
  withChosenTargets,
  withFacts,
  withSharers,
} from "./plan-inputs.ts";
import { Crash, endOfOperation, memoryOf, ProcessMemory, repeatPasses } from "./process-memory.ts";

/** Which Services are unknown to `converge`, and where the process crashes. */
export interface ConvergeOptions {
  /** Applies only the parts of steps that change targets. */
  readonly onlyTargets?: true;
  /**
   * Owners that are not among the desired load balancers and may still exist: their parts must stay. Every other
   * owner without a desired load balancer counts as deleted.
   */
  readonly unknownOwners?: readonly ServiceUID[];
  /** Crashes after the step with this index has been applied, before or after its facts are saved. */
  readonly crash?: { readonly atStep: number; readonly when: "before-facts" | "after-facts" };
}

/** Without an index, nothing crashes. */
export function crashAt(
  atStep: number | undefined,
  when: NonNullable<ConvergeOptions["crash"]>["when"],
): ConvergeOptions {
  return atStep === undefined ? {} : { crash: { atStep, when } };
}

/** The actions of `converge`, and the result of the last pass. */
export interface Converged {
  /** The number of applied steps. */
  readonly steps: number;
  readonly observed: ReadonlyMap<ServiceUID, ObservedLoadBalancer | undefined>;
  /** The Services, with the targets of their last plan. */
  readonly planned: ReadonlyMap<ServiceUID, Desired>;
  /** The Nodes that the cloud rejected as targets. */
  readonly refused: ReadonlySet<string>;
}

/** Reconciles all Services until a pass finds nothing to do. A cloud error ends the pass, which is then repeated. */
export function converge(
  lab: Lab,
  desired: readonly Desired[],
  options: ConvergeOptions = {},
): Promise<Converged> {
  return new Convergence(lab, desired, options).run();
}

/** Reconciles all Services once, as if this were the listing. Steps that the cloud rejects are skipped. */
export function actOnListing(
  lab: Lab,
  desired: readonly Desired[],
  listed: readonly ObservedLoadBalancer[],
): Promise<void> {
  // The memory of the process would hide the consequences of an incorrect listing.
  return new Convergence(lab, desired, {}, new ProcessMemory()).runOnce(listed);
}

/** The observation before steps, and the parts that the steps changed. */
interface Kept {
  readonly balancer: ObservedLoadBalancer;
  readonly outdated: Parts;
}

interface AppliedSteps {
  readonly steps: readonly Step[];
  /** The targets of the load balancer before the steps, as `#checkTargets` returns them. */
  readonly targets: ReadonlySet<string>;
}

/** Everything that one reconcile needs. */
interface Listed {
  readonly found: ObservedLoadBalancer | undefined;
  /** Whether the Service has no second load balancer with its mark. */
  readonly isOnlyOne: boolean;
  readonly prefetched: unknown;
  readonly listed: readonly ObservedLoadBalancer[];
  /** All known Services. */
  readonly services: ReadonlyMap<ServiceUID, Desired>;
}

interface Result {
  readonly isConverged: boolean;
  readonly observed: ObservedLoadBalancer | undefined;
  readonly planned?: Desired | undefined;
}

class Convergence {
  readonly #lab: Lab;
  readonly #crash: ConvergeOptions["crash"];
  readonly #onlyTargets: boolean;
  readonly #desired: readonly Desired[];
  readonly #presentOwners: ReadonlySet<ServiceUID>;
  readonly #balancers: Balancers;
  readonly #memory: ProcessMemory;
  readonly #refused = new Set<string>();
  /** The parts that the next pass rereads, by Service, to compare them with the listing. */
  readonly #kept = new Map<ServiceUID, Kept>();
  /** The last applied steps, with the earlier targets, by Service. */
  readonly #applied = new Map<ServiceUID, AppliedSteps>();
  readonly #observed = new Map<ServiceUID, ObservedLoadBalancer | undefined>();
  readonly #planned = new Map<ServiceUID, Desired>();
  #steps = 0;
  #note: (text: string) => void = () => {};

  constructor(
    lab: Lab,
    desired: readonly Desired[],
    { unknownOwners = [], crash, onlyTargets }: ConvergeOptions,
    memory = memoryOf(lab.cloud),
  ) {
    this.#lab = lab;
    this.#crash = crash;
    this.#onlyTargets = onlyTargets === true;
    this.#desired = desired;
    this.#memory = memory;
    this.#presentOwners = new Set([...unknownOwners, ...desired.map(({ owner }) => owner.uid)]);
    this.#balancers = lab.loadBalancers;
  }

  async run(): Promise<Converged> {
    await repeatPasses(this.#lab, "load balancers", milliseconds(0), async (note) => {
      this.#note = note;
      return this.#reconcileAll();
    });
    return { steps: this.#steps, observed: this.#observed, planned: this.#planned, refused: this.#refused };
  }

  async runOnce(listed: readonly ObservedLoadBalancer[]): Promise<void> {
    try {
      await this.#reconcileAll(listed);
    } catch (error) {
      if (!CloudError.is(error)) throw error;
    }
  }

  /** Returns whether there was nothing to do. */
  async #reconcileAll(given?: readonly ObservedLoadBalancer[]): Promise<boolean> {
    const lab = this.#lab;
    const listed = given ?? (await listBalancers(lab));
    const services = withFacts(this.#desired, lab);
    const prefetch = sharedPrefetch(lab);
    this.#observed.clear();
    this.#planned.clear();
    const ours = listed.filter(({ ownership }) => ownership === "ours");
    const left = ours.flatMap(({ owners }) => {
      const isPresent = owners.some((uid) => this.#presentOwners.has(uid));
      return isPresent ? [] : owners.slice(0, 1);
    });
    let isConverged = true;
    for (const uid of new Set([...services.keys(), ...left])) {
      const marked = ours.filter(({ owners }) => owners.includes(uid));
      const desired = services.get(uid);
      const found = marked[0] ?? adoptableOf(this.#balancers, desired, listed);
      const prefetched = await prefetch(desired);
      const details = { found, isOnlyOne: marked.length < 2, prefetched, listed, services };
      const result = await this.#reconcile(uid, desired, details);
      this.#observed.set(uid, result.observed);
      if (result.planned !== undefined) this.#planned.set(uid, result.planned);
      isConverged &&= result.isConverged;
    }
    return isConverged;
  }

  async #reconcile(uid: ServiceUID, desired: Desired | undefined, listed: Listed): Promise<Result> {
    const lab = this.#lab;
    const balancers = this.#balancers;
    const { observe } = balancers;
    const { prefetched } = listed;
    let observed = listed.found;
    if (observe !== undefined && needsLookup(observed, desired))
      observed = await lab.run((call) => observe.call(balancers, desired, listed.found, call));
    const now = lab.clock.monotonic();
    const chosen = (one: Desired, view: ObservedLoadBalancer | undefined): Desired =>
      withChosenTargets(balancers, one, view, { refused: this.#memory.refused(one.owner.uid), now });
    const planned =
      desired &&
      withSharers(chosen(desired, observed), observed, listed.listed, (other, view) => {
        const known = listed.services.get(other);
        return known && chosen(known, view);
      });
    const plan = balancers.plan(planned, observed, prefetched);
    if (JSON.stringify(balancers.plan(planned, observed, prefetched)) !== JSON.stringify(plan)) {
      throw new Error(`plan() is not pure: it returned two different plans for Service ${uid}.`);
    }
    this.#note(`The last plan of Service ${uid}: ${JSON.stringify(plan)}`);
    if (this.#noteRefused(planned, plan.refused)) return { isConverged: false, observed, planned };
    await this.#checkKept(uid, desired, (again) =>
      JSON.stringify(again === "listed" ? plan : balancers.plan(planned, again, prefetched)),
    );
    const targets = planned && this.#checkTargets(uid, planned, listed, { observed, steps: plan.steps });
    const steps = this.#onlyTargets ? plan.steps.flatMap((step) => targetsPartOf(step) ?? []) : plan.steps;
    const { isConverged, applied } = await this.#apply(uid, planned, { ...plan, steps });
    if (targets !== undefined && steps.length > 0) this.#applied.set(uid, { steps: applied, targets });
    const isRead = listed.found?.shallow === true && !this.#onlyTargets;
    if (isConverged && planned !== undefined && observed !== undefined && listed.found && isRead) {
      const again = await this.#observeAgain(planned, listed.found, observed, []);
      const { steps } = again === undefined ? plan : balancers.plan(planned, again, prefetched);
      if (steps.length > 0)
        throw new Error(
          `observeAgain() lacks something of Service ${uid}, which has just been observed: the plan is ${JSON.stringify(steps)}.`,
        );
    }
    const isLeaving = planned === undefined || planned.ending !== undefined;
    const kept =
      observed?.ownership === "ours" && listed.isOnlyOne
        ? afterSteps({ balancer: observed, outdated: [] }, { isLeaving, steps })
        : undefined;
    if (kept !== undefined && steps.length > 0) this.#kept.set(uid, kept);
    return { isConverged, observed, planned };
  }

  /**
   * The targets of the load balancer, as a plan without targets names them; undefined while the plan names none
   * because it waits. Throws if the targets changed differently from what the applied steps declared.
   */
  #checkTargets(
    uid: ServiceUID,
    planned: Desired,
    { prefetched }: Listed,
    {
      observed,
      steps,
    }: { readonly observed: ObservedLoadBalancer | undefined; readonly steps: readonly Step[] },
  ): ReadonlySet<string> | undefined {
    const applied = this.#applied.get(uid);
    const bare = this.#balancers.plan({ ...planned, targets: [] }, observed, prefetched);
    const isUnknown = bare.wait !== undefined || bare.problems?.some(({ severity }) => severity === "error");
    // Other Services may need targets that this Service does not need.
    const isShared = planned.sharers !== undefined;
    if (planned.ending !== undefined || observed?.ownership !== "ours" || isUnknown || isShared)
      return undefined;
    this.#applied.delete(uid);
    const now = changedTargets(bare.steps);
    // A fault may hide the effect of a step, or existing objects.
    if (this.#lab.faulty.isDisturbed) return now.removed;
    const unnamed = planned.targets.find((one) => !this.#refused.has(one.node) && !now.isRemoved(one));
    if (steps.length === 0 && unnamed !== undefined)
      throw new Error(
        `The load balancer of Service ${uid} is complete, and the plan that removes all its targets does not name ${unnamed.node}: ${JSON.stringify(bare.steps)}. Name what steps remove in \`Step.targets.removes\`.`,
      );
    if (applied === undefined) return now.removed;
    const { added, removed } = changedTargets(applied.steps);
    const joined = planned.targets.filter(({ node }) => added.has(node) && !this.#refused.has(node));
    const names = new Set(joined.flatMap(namesOf));
    const known = joined.find((one) =>
      namesOf(one).some((name) => applied.targets.has(name) && !removed.has(name)),
    );
    if (known !== undefined)
      throw new Error(
        `A step names ${known.node} in \`Step.targets.adds\`, which was a target of Service ${uid} before: ${JSON.stringify(applied.steps)}.`,
      );
    const others = [applied.targets.difference(removed), now.removed].map((all) => all.difference(names));
    const [expected, found] = others.map((all) => [...all].toSorted().join(" "));
    if (expected === found && joined.every(now.isRemoved)) return now.removed;
    throw new Error(
      `The targets of Service ${uid} were ${[...applied.targets].join(" ") || "none"}, and are ${[...now.removed].join(" ") || "none"} after the steps ${JSON.stringify(applied.steps)}. Name in \`Step.targets\` what they change.`,
    );
  }

  /** After a change, the reread parts must lead to the same plan as a new listing. */
  async #checkKept(
    uid: ServiceUID,
    desired: Desired | undefined,
    planFor: (observed: ObservedLoadBalancer | "listed") => string,
  ): Promise<void> {
    const kept = this.#kept.get(uid);
    this.#kept.delete(uid);
    if (kept === undefined || desired === undefined || this.#balancers.observeAgain === undefined) return;
    const { balancer, outdated } = kept;
    for (const parts of [outdated, [allParts, markPart]]) {
      const again = await this.#observeAgain(desired, balancer, balancer, parts);
      // Without an observation, the listing decides.
      if (again === undefined) continue;
      const [fromKept, fromListing] = [planFor(again), planFor("listed")];
      if (fromKept === fromListing) continue;
      throw new Error(
        `observeAgain() read ${parts.join(", ")} for Service ${uid}, and the plan differs from that after a listing: ${fromKept} instead of ${fromListing}. Name all parts that a step changes in its \`restsOn\`.`,
      );
    }
  }

  async #observeAgain(
    desired: Desired,
    listed: ObservedLoadBalancer,
    before: ObservedLoadBalancer,
    parts: Parts,
  ): Promise<ObservedLoadBalancer | undefined> {
    const balancers = this.#balancers;
    return this.#lab.run(async (call) => balancers.observeAgain?.(desired, listed, before, parts, call));
  }

  /**
   * Applies the plan. Returns whether there was nothing to do, and the applied steps; the steps after one that is in progress
   * belong to the next plan.
   */
  async #apply(
    uid: ServiceUID,
    planned: Desired | undefined,
    { steps, wait, problems = [] }: Plan<Step>,
  ): Promise<{ readonly isConverged: boolean; readonly applied: readonly Step[] }> {
    const lab = this.#lab;
    const crash = this.#crash;
    checkReasons(problems, lab.reasons);
    const applied: Step[] = [];
    // An error stops the plan until something changes.
    if (problems.some(({ severity }) => severity === "error")) return { isConverged: true, applied };
    for (const step of steps) {
      const outcome = await lab.run((call) => this.#balancers.apply(step, call));
      applied.push(step);
      this.#noteRefused(planned, outcome.refused);
      const isCrashing = crash?.atStep === this.#steps++;
      if (isCrashing && crash.when === "before-facts") throw new Crash();
      saveFacts(lab, uid, outcome.remember);
      if (isCrashing) throw new Crash();
      if (outcome.done) continue;
      const { operation, checkAfter } = outcome;
      if (operation === undefined) await lab.clock.advance(checkAfter);
      else await this.#waitForOperation(uid, operation, checkAfter, planned);
      break;
    }
    if (wait !== undefined) await lab.clock.advance(wait.checkAfter);
    return { isConverged: steps.length === 0 && wait === undefined, applied };
  }

  async #waitForOperation(
    uid: ServiceUID,
    operation: string,
    checkAfter: Milliseconds,
    planned: Desired | undefined,
  ): Promise<void> {
    const done = await endOfOperation(this.#lab, operation, checkAfter);
    // The cloud has lost the operation; the next pass observes its result.
    if (done === undefined) return;
    this.#noteRefused(planned, done.refused);
    saveFacts(this.#lab, uid, done.remember);
  }

  /** Returns whether the rejection reduces the targets of the next plan. */
  #noteRefused(planned: Desired | undefined, refused: readonly RefusedTarget[] = []): boolean {
    const now = this.#lab.clock.monotonic();
    let isNews = false;
    for (const { node, text } of refused) {
      this.#refused.add(node);
      const target = planned?.targets.find((one) => one.node === node);
      if (planned === undefined || target === undefined) continue;
      if (this.#memory.refused(planned.owner.uid).note(target, text, now)) isNews = true;
    }
    return isNews;
  }
}

/** Metrics and alerts need a closed list of reasons. */
function checkReasons(problems: readonly ProviderProblem[], declared: DeclaredReasons | undefined): void {
  const known = { ...commonReasons, ...meaningsOf(declared) };
  const unknown = problems.find(({ reason }) => !Object.hasOwn(known, reason));
  if (unknown === undefined) return;
  throw new Error(
    `plan() returned a problem with the reason ${JSON.stringify(unknown.reason)}, which the provider does not declare. Declare it with declareReasons, or use a common reason.`,
  );
}
