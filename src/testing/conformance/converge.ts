// Drives a provider's load balancers to their desired state: observe, plan, apply, save the facts, repeat. It applies
// the framework's rules about one plan (when to look up, which targets, accepted steps, refusals), without backoff and evidence.

import { type RecentSteps, withoutRecent } from "../../cloud/reads-lag.ts";
import { fingerprintOf, hashStep, textOfDesired } from "../../controllers/service/desired/difference.ts";
import { needsLookup } from "../../controllers/service/reconcile/observe.ts";
import { keptAfter } from "../../controllers/service/state/group-parts.ts";
import { type Milliseconds, milliseconds, type ServiceUID } from "../../core/brand.ts";
import { CloudError } from "../../provider/errors.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Plan, RefusedTarget, Step } from "../../provider/plan.ts";
import {
  adoptableOf,
  type Balancers,
  type Desired,
  groupMembers,
  listBalancers,
  prefetchFor,
  saveFacts,
  withChosenTargets,
} from "./converge-groups.ts";
import type { Lab } from "./lab.ts";
import { Crash, endOfOperation, memoryOf, ProcessMemory, repeatPasses } from "./process-memory.ts";

/** Which Services are unknown to `converge`, and where the process crashes. */
export interface ConvergeOptions {
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

/** What `converge` did, and what it found in the last pass. */
export interface Converged {
  /** Steps applied. */
  readonly steps: number;
  readonly observed: ReadonlyMap<string, ObservedLoadBalancer | undefined>;
  /** The Services of each group, with their targets as they were planned last. */
  readonly members: ReadonlyMap<string, readonly Desired[]>;
  /** The Nodes that the cloud refused as targets. */
  readonly refused: ReadonlySet<string>;
}

/** Reconciles all groups until a pass finds nothing to do. A cloud error ends the pass; the next one repeats it. */
export function converge(
  lab: Lab,
  desired: readonly Desired[],
  options: ConvergeOptions = {},
): Promise<Converged> {
  return new Convergence(lab, desired, options).run();
}

/** Reconciles all groups once, as if this were the listing. What the cloud refuses is skipped. */
export function actOnListing(
  lab: Lab,
  desired: readonly Desired[],
  listed: readonly ObservedLoadBalancer[],
): Promise<void> {
  // The memory of the process would hide what a wrong listing leads to.
  return new Convergence(lab, desired, {}, new ProcessMemory()).runOnce(listed);
}

/** Everything that one reconcile of a group needs. */
interface Listed {
  readonly found: ObservedLoadBalancer | undefined;
  /** The group has no second load balancer with the mark. */
  readonly isOnlyOne: boolean;
  readonly prefetched: unknown;
  /** When the listing began. */
  readonly beganAt: number;
}

/** The step whose operation runs. */
interface Pending {
  readonly recentSteps: RecentSteps;
  readonly hash: string;
  readonly members: readonly Desired[];
}

interface Result {
  readonly isConverged: boolean;
  readonly observed: ObservedLoadBalancer | undefined;
  readonly members: readonly Desired[];
}

class Convergence {
  readonly #lab: Lab;
  readonly #crash: ConvergeOptions["crash"];
  readonly #desired: readonly Desired[];
  readonly #presentOwners: ReadonlySet<ServiceUID>;
  readonly #balancers: Balancers;
  readonly #memory: ProcessMemory;
  readonly #refused = new Set<string>();
  /** What the next pass reads again, by group, to compare it with the listing. */
  readonly #kept = new Map<string, ObservedLoadBalancer>();
  #steps = 0;
  #note: (text: string) => void = () => {};

  constructor(
    lab: Lab,
    desired: readonly Desired[],
    { unknownOwners = [], crash }: ConvergeOptions,
    memory = memoryOf(lab.cloud),
  ) {
    this.#lab = lab;
    this.#crash = crash;
    this.#desired = desired;
    this.#memory = memory;
    this.#presentOwners = new Set([...unknownOwners, ...desired.map(({ owner }) => owner.uid)]);
    this.#balancers = lab.loadBalancers;
  }

  async run(): Promise<Converged> {
    let members = new Map<string, readonly Desired[]>();
    const observed = new Map<string, ObservedLoadBalancer | undefined>();
    const readsLag = this.#balancers.readsLag ?? milliseconds(0);
    await repeatPasses(this.#lab, "load balancers", readsLag, async (note) => {
      members = groupMembers(this.#balancers, this.#desired, this.#lab);
      observed.clear();
      this.#note = note;
      return this.#reconcileAll(members, observed);
    });
    return { steps: this.#steps, observed, members, refused: this.#refused };
  }

  async runOnce(listed: readonly ObservedLoadBalancer[]): Promise<void> {
    try {
      await this.#reconcileAll(groupMembers(this.#balancers, this.#desired, this.#lab), new Map(), listed);
    } catch (error) {
      if (!CloudError.is(error)) throw error;
    }
  }

  /** Whether there was nothing to do. */
  async #reconcileAll(
    members: Map<string, readonly Desired[]>,
    observed: Map<string, ObservedLoadBalancer | undefined>,
    given?: readonly ObservedLoadBalancer[],
  ): Promise<boolean> {
    const lab = this.#lab;
    const beganAt = lab.clock.monotonic();
    const listed = given ?? (await listBalancers(lab));
    const all = [...members.values()].flat();
    const prefetched = await prefetchFor(lab, all);
    for (const { group, ownership } of listed) {
      if (ownership === "ours" && !members.has(group)) members.set(group, []);
    }
    let isConverged = true;
    for (const [group, desired] of members) {
      const marked = listed.filter((balancer) => balancer.ownership === "ours" && balancer.group === group);
      const found = marked[0] ?? adoptableOf(this.#balancers, desired, listed);
      const details = { found, isOnlyOne: marked.length < 2, prefetched, beganAt };
      const result = await this.#reconcile(group, desired, details);
      observed.set(group, result.observed);
      members.set(group, result.members);
      isConverged &&= result.isConverged;
    }
    return isConverged;
  }

  async #reconcile(group: string, desired: readonly Desired[], listed: Listed): Promise<Result> {
    const lab = this.#lab;
    const balancers = this.#balancers;
    const recentSteps = this.#memory.recentSteps(group);
    const { observe } = balancers;
    recentSteps.observedAt = listed.beganAt;
    let observed = listed.found;
    if (observe !== undefined && needsLookup(observed, desired.length)) {
      recentSteps.observedAt = lab.clock.monotonic();
      observed = await lab.run((call) => observe.call(balancers, desired, listed.found, call));
    }
    const now = lab.clock.monotonic();
    const members = desired.map((one) =>
      withChosenTargets(balancers, one, observed, { refused: this.#memory.refused(one.owner.uid), now }),
    );
    const orphans = (observed?.owners ?? []).filter((uid) => !this.#presentOwners.has(uid));
    const servesOnlyUnknownOwners =
      observed !== undefined && observed.owners.length > 0 && orphans.length === 0;
    if (members.length === 0 && servesOnlyUnknownOwners) return { isConverged: true, observed, members };
    const context = { prefetched: listed.prefetched, orphans };
    const planned = balancers.plan(members, observed, context);
    if (JSON.stringify(balancers.plan(members, observed, context)) !== JSON.stringify(planned)) {
      throw new Error(`plan() is not pure: it returned two different plans for group ${group}.`);
    }
    const text = textOfDesired(fingerprintOf(members));
    const plan = withoutRecent(planned, recentSteps, balancers, { hashOf: hashStep, desired: () => text });
    this.#note(`The last plan of group ${group}: ${JSON.stringify(plan)}`);
    if (this.#noteRefused(members, plan.refused)) return { isConverged: false, observed, members };
    await this.#checkKept(group, desired, (again) =>
      JSON.stringify(again === "listed" ? planned : balancers.plan(members, again, context)),
    );
    const isConverged = await this.#apply(group, members, plan, text);
    if (isConverged && observed !== undefined && listed.found?.shallow === true) {
      const recalled = balancers.recall?.(members, listed.found, observed);
      const { steps } = recalled === undefined ? plan : balancers.plan(members, recalled, context);
      if (steps.length > 0)
        throw new Error(
          `recall() lacks something of group ${group}, which has just been observed: the plan is ${JSON.stringify(steps)}.`,
        );
    }
    const leaving = members.flatMap(({ owner, ending }) => (ending === undefined ? [] : owner.uid));
    const { steps } = plan;
    const kept =
      observed?.ownership === "ours" && listed.isOnlyOne
        ? keptAfter({ ...observed, outdated: [] }, { leaving, steps })
        : undefined;
    if (kept !== undefined && steps.length > 0) this.#kept.set(group, kept);
    return { isConverged, observed, members };
  }

  /** After a change, what `observe` reads again leads to the same plan as a new listing does. */
  async #checkKept(
    group: string,
    desired: readonly Desired[],
    planFor: (observed: ObservedLoadBalancer | "listed" | undefined) => string,
  ): Promise<void> {
    const kept = this.#kept.get(group);
    const { observe, readsLag, recall } = this.#balancers;
    this.#kept.delete(group);
    if (kept === undefined || observe === undefined || readsLag !== undefined) return;
    for (const outdated of [kept.outdated ?? [], ...(recall === undefined ? [] : [["listed", "mark"]])]) {
      const again = await this.#lab.run((call) =>
        observe.call(this.#balancers, desired, { ...kept, outdated }, call),
      );
      const [fromKept, fromListing] = [planFor(again), planFor("listed")];
      if (fromKept === fromListing) continue;
      throw new Error(
        `observe() read ${outdated.join(", ")} again for group ${group}, and the plan differs from that after a listing: ${fromKept} instead of ${fromListing}. Name all parts that a step changes in its \`outdates\`.`,
      );
    }
  }

  /** Whether there was nothing to do. */
  async #apply(
    group: string,
    members: readonly Desired[],
    { steps, wait, problems = [] }: Plan<Step>,
    desired: string,
  ): Promise<boolean> {
    const lab = this.#lab;
    const crash = this.#crash;
    // An error stops the plan until something changes.
    if (problems.some(({ severity }) => severity === "error")) return true;
    const recentSteps = this.#memory.recentSteps(group);
    for (const step of steps) {
      const outcome = await lab.run((call) => this.#balancers.apply(step, call));
      const hash = hashStep(step);
      recentSteps.note(hash, { at: lab.clock.monotonic(), step, desired });
      this.#noteRefused(members, outcome.refused);
      const isCrashing = crash?.atStep === this.#steps++;
      if (isCrashing && crash.when === "before-facts") throw new Crash();
      saveFacts(lab, outcome.remember);
      if (isCrashing) throw new Crash();
      if (outcome.done) continue;
      const { operation, checkAfter } = outcome;
      if (operation === undefined) await lab.clock.advance(checkAfter);
      else await this.#waitForOperation(operation, checkAfter, { recentSteps, hash, members });
      break;
    }
    if (wait !== undefined) await lab.clock.advance(wait.checkAfter);
    return steps.length === 0 && wait === undefined;
  }

  async #waitForOperation(
    operation: string,
    checkAfter: Milliseconds,
    { recentSteps, hash, members }: Pending,
  ): Promise<void> {
    const lab = this.#lab;
    const done = await endOfOperation(lab, operation, checkAfter).catch((error: unknown) => {
      if (CloudError.is(error)) recentSteps.forget(hash);
      throw error;
    });
    // The cloud has lost the operation; the next pass observes its result.
    if (done === undefined) return;
    recentSteps.renew(hash, lab.clock.monotonic());
    this.#noteRefused(members, done.refused);
    saveFacts(lab, done.remember);
  }

  /** Whether the next plan has fewer targets because of it. */
  #noteRefused(members: readonly Desired[], refused: readonly RefusedTarget[] = []): boolean {
    const now = this.#lab.clock.monotonic();
    let isNews = false;
    for (const { node, text, owner } of refused) {
      this.#refused.add(node);
      for (const { owner: member, targets } of members) {
        const target = targets.find((one) => one.node === node);
        if (target === undefined || (owner !== undefined && owner !== member.uid)) continue;
        if (this.#memory.refused(member.uid).note(target, text, now)) isNews = true;
      }
    }
    return isNews;
  }
}
