// Drives a provider's load balancers to their desired state: observe, plan, apply, save the facts, repeat. It has no
// policies, unlike the real controller, and must reach the same end state.

import { type Milliseconds, type ServiceUID, seconds } from "../../core/brand.ts";
import type { Fields } from "../../core/settings.ts";
import { CloudError } from "../../provider/errors.ts";
import type {
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from "../../provider/load-balancers.ts";
import type { Facts, Step } from "../../provider/plan.ts";
import { DeadlineError } from "../../runtime/deadline.ts";
import { collect, type Lab } from "./lab.ts";

type Desired = DesiredLoadBalancer<Fields>;
type Balancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

/** Thrown by a simulated crash of the process. */
export class Crash extends Error {}

/** Runs the work and returns whether it ended in a simulated crash. */
export async function crashes(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    if (error instanceof Crash) return true;
    throw error;
  }
}

/** The facts of each Service, as annotations keep them: they outlive the provider's process. */
export type SavedFacts = Map<ServiceUID, Facts>;

/** What `converge` works on. */
export interface ConvergeOptions {
  readonly lab: Lab;
  readonly savedFacts: SavedFacts;
  /**
   * Owners that are not among the desired load balancers and may still exist: their parts must stay. Every other
   * owner without a desired load balancer counts as deleted.
   */
  readonly unknownOwners?: readonly ServiceUID[];
  /** Crashes after the step with this index has been applied, before or after its facts are saved. */
  readonly crash?: { readonly atStep: number; readonly when: "before-facts" | "after-facts" };
}

/** What `converge` did, and what it found in the last pass. */
export interface Converged {
  /** Steps applied. */
  readonly steps: number;
  readonly observed: ReadonlyMap<string, ObservedLoadBalancer | undefined>;
  readonly members: ReadonlyMap<string, readonly Desired[]>;
}

const maxPasses = 100;

/** Reconciles all groups until a pass finds nothing to do. A cloud error ends the pass; the next one repeats it. */
export function converge(options: ConvergeOptions, desired: readonly Desired[]): Promise<Converged> {
  return new Convergence(options, desired).run();
}

/** Reconciles all groups once, as if this were the listing. What the cloud refuses is skipped. */
export function actOnListing(
  options: ConvergeOptions,
  desired: readonly Desired[],
  listed: readonly ObservedLoadBalancer[],
): Promise<void> {
  return new Convergence(options, desired).runOnce(listed);
}

/** Everything that the provider lists. */
export async function listBalancers(lab: Lab): Promise<readonly ObservedLoadBalancer[]> {
  const { loadBalancers } = lab.cloud;
  if (loadBalancers === undefined) throw new Error("This provider has no load balancers.");
  return lab.run(async (call) => (await collect(loadBalancers.list(call))).flat());
}

class Convergence {
  readonly #options: ConvergeOptions;
  readonly #desired: readonly Desired[];
  readonly #presentOwners: ReadonlySet<ServiceUID>;
  readonly #balancers: Balancers;
  #steps = 0;

  constructor(options: ConvergeOptions, desired: readonly Desired[]) {
    const { loadBalancers } = options.lab.cloud;
    if (loadBalancers === undefined) throw new Error("This provider has no load balancers.");
    this.#options = options;
    this.#desired = desired;
    this.#presentOwners = new Set([
      ...(options.unknownOwners ?? []),
      ...desired.map(({ owner }) => owner.uid),
    ]);
    this.#balancers = loadBalancers;
  }

  async run(): Promise<Converged> {
    for (let pass = 0; pass < maxPasses; pass++) {
      const members = this.#groupMembers();
      const observed = new Map<string, ObservedLoadBalancer | undefined>();
      try {
        if (await this.#reconcileAll(members, observed)) return { steps: this.#steps, observed, members };
      } catch (error) {
        if (!CloudError.is(error) && !(error instanceof DeadlineError)) throw error;
        await this.#options.lab.clock.advance(seconds(5));
      }
    }
    throw new Error(`The load balancers did not converge within ${maxPasses} passes.`);
  }

  async runOnce(listed: readonly ObservedLoadBalancer[]): Promise<void> {
    try {
      await this.#reconcileAll(this.#groupMembers(), new Map(), listed);
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
    const { lab } = this.#options;
    const listed = given ?? (await listBalancers(lab));
    const all = [...members.values()].flat();
    const prefetched = await lab.run(async (call) => this.#balancers.prefetch?.(all, call));
    for (const { group, ownership } of listed) {
      if (ownership === "ours" && !members.has(group)) members.set(group, []);
    }
    let isConverged = true;
    for (const [group, desired] of members) {
      const [marked, ...duplicates] = listed.filter((balancer) => balancer.group === group);
      const found = marked ?? this.#adoptable(desired, listed);
      const result = await this.#reconcile(group, desired, { found, duplicates, prefetched });
      observed.set(group, result.observed);
      isConverged &&= result.isConverged;
    }
    return isConverged;
  }

  async #reconcile(
    group: string,
    members: readonly Desired[],
    given: {
      readonly found: ObservedLoadBalancer | undefined;
      readonly duplicates: readonly ObservedLoadBalancer[];
      readonly prefetched: unknown;
    },
  ): Promise<{ isConverged: boolean; observed: ObservedLoadBalancer | undefined }> {
    const { lab, savedFacts, crash } = this.#options;
    const balancers = this.#balancers;
    const { found, duplicates, prefetched } = given;
    const { observe } = balancers;
    const answer =
      observe === undefined ? found : await lab.run((call) => observe.call(balancers, members, found, call));
    if (answer !== undefined && "isUnknown" in answer) {
      await lab.clock.advance(answer.checkAfter);
      return { isConverged: false, observed: undefined };
    }
    const observed = answer;
    const orphans = (observed?.owners ?? []).filter((uid) => !this.#presentOwners.has(uid));
    const servesOnlyUnknownOwners =
      observed !== undefined && observed.owners.length > 0 && orphans.length === 0;
    if (members.length === 0 && servesOnlyUnknownOwners) return { isConverged: true, observed };
    const context = { prefetched, inputs: lab.inputs, orphans, duplicates };
    const plan = balancers.plan(members, observed, context);
    if (JSON.stringify(balancers.plan(members, observed, context)) !== JSON.stringify(plan)) {
      throw new Error(`plan() is not pure: it returned two different plans for group ${group}.`);
    }
    for (const step of plan.steps) {
      const outcome = await lab.run((call) => balancers.apply(step, call));
      const isCrashing = crash?.atStep === this.#steps++;
      if (isCrashing && crash.when === "before-facts") throw new Crash();
      saveFacts(savedFacts, outcome.remember);
      if (isCrashing) throw new Crash();
      if (!outcome.done) {
        if (outcome.operation === undefined) await lab.clock.advance(outcome.checkAfter);
        else await this.#waitForOperation(outcome.operation, outcome.checkAfter);
        break;
      }
    }
    if (plan.wait !== undefined) await lab.clock.advance(plan.wait.checkAfter);
    return { isConverged: plan.steps.length === 0 && plan.wait === undefined, observed };
  }

  async #waitForOperation(operation: string, checkAfter: Milliseconds): Promise<void> {
    const { lab, savedFacts } = this.#options;
    const { pending } = lab.cloud;
    if (pending === undefined) {
      throw new Error(`A step returned the operation ${operation}, but this provider has no \`pending\`.`);
    }
    for (let delay = checkAfter, checks = 0; checks < maxPasses; checks++) {
      await lab.clock.advance(delay);
      const answer = (await lab.run((call) => pending.check([operation], call))).get(operation);
      if (CloudError.is(answer)) throw answer;
      // The cloud has lost the operation; the next pass observes its result.
      if (answer === undefined) return;
      if (answer.done) return saveFacts(savedFacts, answer.remember);
      delay = answer.checkAfter;
    }
    throw new Error(`Operation ${operation} did not end within ${maxPasses} checks.`);
  }

  /** For a group without a load balancer: the unmarked one that a member requests to adopt. */
  #adoptable(
    members: readonly Desired[],
    listed: readonly ObservedLoadBalancer[],
  ): ObservedLoadBalancer | undefined {
    const matches = listed.filter(
      (balancer) =>
        balancer.ownership === "unmarked" &&
        members.some((member) => member.ending === undefined && this.#balancers.adopts?.(member, balancer)),
    );
    if (matches.length > 1)
      throw new Error(`${matches.length} load balancers match an adoption, expected 1.`);
    return matches[0];
  }

  #groupMembers(): Map<string, readonly Desired[]> {
    const groups = new Map<string, readonly Desired[]>();
    for (const desired of this.#desired) {
      const member = { ...desired, facts: this.#options.savedFacts.get(desired.owner.uid) ?? {} };
      const group = this.#balancers.groupOf?.(member) ?? desired.owner.uid;
      groups.set(group, [...(groups.get(group) ?? []), member]);
    }
    return groups;
  }
}

function saveFacts(
  savedFacts: SavedFacts,
  changes: ReadonlyMap<ServiceUID, Readonly<Record<string, string | undefined>>> | undefined,
): void {
  for (const [uid, facts] of changes ?? []) {
    const merged = Object.entries({ ...savedFacts.get(uid), ...facts });
    savedFacts.set(uid, Object.fromEntries(merged.filter(([, fact]) => fact !== undefined)) as Facts);
  }
}
