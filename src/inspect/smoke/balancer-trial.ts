// The trial of a load balancer, first with one port and then with two. It belongs to a Service that does not exist, whose uid
// is random, so no other object can have it in its mark.

import { annotationsOf } from "../../app/configuration/cloud-settings.ts";
import { needsLookup } from "../../cloud/inventory/balancer-observation.ts";
import { withOwners } from "../../cloud/inventory/balancer-owners.ts";
import { prefetchAlone } from "../../cloud/inventory/shared-prefetch.ts";
import type { AnyBalancers } from "../../controllers/service/deps.ts";
import { defaultLoadBalancerName } from "../../controllers/service/desired/to-desired.ts";
import type { Milliseconds } from "../../core/brand.ts";
import { messageIn } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Fields } from "../../core/settings.ts";
import type { Call } from "../../provider/call.ts";
import type { DesiredLoadBalancer, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Plan, Step } from "../../provider/plan.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { applyAndWait } from "../cleanup/apply-and-wait.ts";
import { ownerOf, type SmokeRecord, smokeName } from "./record.ts";
import {
  type Found,
  interval,
  isUnclear,
  SmokeFailure,
  shownWithin,
  type Trial,
  type TrialContext,
  untilDone,
  untilShown,
} from "./trial.ts";

type Desired = DesiredLoadBalancer<Fields>;
type Ports = readonly [number, ...number[]];

const first: Ports = [80];
const second: Ports = [80, 81];

/** Below the usual node port range, so that no Service listens there. */
export const nodePortOf = (port: number): number => 29_900 + port;

export function desiredBalancer(provider: AnyProvider, record: SmokeRecord, ports: Ports = first): Desired {
  const uid = ownerOf(record);
  const { values: settings } = readSettings(annotationsOf(provider).fields, {}, { what: "annotation" });
  return {
    owner: { uid, namespace: "default", name: smokeName(record) },
    defaultName: defaultLoadBalancerName(uid),
    ports: ports.map((port) => ({ protocol: "TCP", port, nodePort: nodePortOf(port) })),
    targets: record.machine === undefined ? [] : [{ ...record.machine, labels: {}, draining: false }],
    sourceRanges: undefined,
    families: ["IPv4"],
    externalTrafficPolicy: "Cluster",
    settings,
    facts: record.facts,
  };
}

/** Throws what a Service would report. */
export function checkPlan({ problems = [], refused = [] }: Plan<Step>): void {
  const error = problems.find(({ severity }) => severity === "error");
  if (error !== undefined) throw new SmokeFailure(error.reason, messageIn(error));
  const [target] = refused;
  if (target !== undefined)
    throw new SmokeFailure("TargetRefused", `The cloud refuses ${target.node} as a target: ${target.text}`);
}

export class BalancerTrial implements Trial {
  readonly part = "load balancer";
  readonly searchFor: string;
  readonly steps = [
    { name: "create", run: (call: Call) => this.#converge(first, call) },
    { name: "check", run: (call: Call) => this.#verify(first, undefined, call) },
    { name: "change", run: (call: Call) => this.#converge(second, call) },
    { name: "check the change", run: (call: Call) => this.#verify(second, first, call) },
  ];
  readonly #context: TrialContext;
  /** When steps were sent (monotonic). A stale listing must not create two load balancers. */
  readonly #sent = new Map<string, number>();

  constructor(context: TrialContext) {
    const { record } = context.file;
    this.#context = context;
    this.searchFor = `a load balancer whose name, label or tag contains ${record.uid} or ${defaultLoadBalancerName(ownerOf(record))}`;
  }

  async find(call: Call): Promise<readonly Found[]> {
    const balancers = this.#balancersOf("check");
    const desired = { ...this.#desired(first), facts: {}, targets: [], ending: "delete" } as const;
    const listed = await this.#list(balancers, call);
    const looked = listed.length === 0 ? await this.#lookUp(balancers, desired, undefined, call) : undefined;
    const all = looked === undefined ? listed : [looked];
    return all.map((one) => ({ name: one.name, remove: () => this.#remove(desired, one, call) }));
  }

  #balancersOf(connection: "work" | "check"): AnyBalancers {
    const { loadBalancers } = this.#context[connection];
    if (loadBalancers === undefined) throw new Error("This cloud has no load balancers.");
    return loadBalancers;
  }

  #desired(ports: Ports): Desired {
    const { provider, file } = this.#context;
    return desiredBalancer(provider, file.record, ports);
  }

  /** Finds the load balancer by name and mark only, because an id in the record may have been edited. */
  #own(balancers: AnyBalancers, all: readonly ObservedLoadBalancer[]): readonly ObservedLoadBalancer[] {
    const { owner, defaultName } = this.#desired(first);
    const service = { owner, defaultName, facts: {}, createdAt: "", hasFinalizer: true, addresses: [] };
    return withOwners(all, balancers.ownKeys, () => [{ ...service, hasHostname: false }]).filter(
      ({ ownership, owners }) => ownership === "ours" && owners.includes(owner.uid),
    );
  }

  async #list(balancers: AnyBalancers, call: Call): Promise<readonly ObservedLoadBalancer[]> {
    const all: ObservedLoadBalancer[] = [];
    for await (const page of balancers.list(call)) all.push(...page);
    return this.#own(balancers, all);
  }

  async #lookUp(
    balancers: AnyBalancers,
    desired: Desired,
    listed: ObservedLoadBalancer | undefined,
    call: Call,
  ): Promise<ObservedLoadBalancer | undefined> {
    if (balancers.observe === undefined || !needsLookup(listed, desired)) return listed;
    const found = await balancers.observe(desired, listed, call);
    return found && this.#own(balancers, [found])[0];
  }

  async #observe(
    balancers: AnyBalancers,
    desired: Desired,
    call: Call,
  ): Promise<ObservedLoadBalancer | undefined> {
    const [listed, other] = await this.#list(balancers, call);
    if (other !== undefined)
      throw new SmokeFailure("DuplicateLoadBalancer", "The cloud has two load balancers of this test.");
    return this.#lookUp(balancers, desired, listed, call);
  }

  async #plan(
    balancers: AnyBalancers,
    desired: Desired,
    observed: ObservedLoadBalancer | undefined,
    call: Call,
  ): Promise<Plan<Step>> {
    return balancers.plan(desired, observed, await prefetchAlone(balancers, desired, call));
  }

  #converge(ports: Ports, call: Call): Promise<void> {
    const balancers = this.#balancersOf("work");
    return untilDone(this.#context.clock, call.signal, async () => {
      const desired = this.#desired(ports);
      const observed = await this.#observe(balancers, desired, call);
      const plan = await this.#plan(balancers, desired, observed, call);
      checkPlan(plan);
      const { steps, wait } = plan;
      const [next] = steps;
      if (next !== undefined) {
        return this.#isRecent(next, observed) ? interval : this.#apply(balancers, steps, call);
      }
      if (wait !== undefined) return wait.checkAfter;
      if (observed === undefined)
        throw new SmokeFailure(
          "NothingPlanned",
          "The provider plans no step to create it. Please file a bug.",
        );
      return balancers.publish(desired, observed).kind === "wait" ? interval : undefined;
    });
  }

  /**
   * Whether the step was sent so recently that listings may not show its effect yet. Throws if no listing shows the load
   * balancer after a while.
   */
  #isRecent(step: Step, observed: ObservedLoadBalancer | undefined): boolean {
    const sentAt = this.#sent.get(JSON.stringify(step));
    if (sentAt === undefined) return false;
    if (this.#context.clock.monotonic() - sentAt < shownWithin) return true;
    if (observed !== undefined) return false;
    throw new SmokeFailure("NotListed", `No listing shows the result of "${step.do}". It is not sent twice.`);
  }

  async #apply(balancers: AnyBalancers, steps: readonly Step[], call: Call): Promise<Milliseconds> {
    for (const step of steps) {
      const text = JSON.stringify(step);
      this.#sent.set(text, this.#context.clock.monotonic());
      try {
        const delay = await applyAndWait(this.#stepDeps(balancers), [step], call);
        if (delay !== undefined) return delay;
      } catch (error) {
        if (!isUnclear(error)) this.#sent.delete(text);
        throw error;
      }
    }
    return interval;
  }

  #stepDeps(balancers: AnyBalancers): Parameters<typeof applyAndWait>[0] {
    const { work, clock, file, progress } = this.#context;
    return {
      balancers,
      pending: work.pending,
      clock,
      end: Number.POSITIVE_INFINITY,
      progress: (text) => progress(`  ${text}`),
      remember: async (changes) => {
        const facts = Object.entries({ ...file.record.facts, ...changes });
        const present = facts.flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value] as const],
        );
        await file.save({ facts: Object.fromEntries(present) });
      },
    };
  }

  /** `before`: the ports that a new listing must no longer show. */
  #verify(ports: Ports, before: Ports | undefined, call: Call): Promise<void> {
    const balancers = this.#balancersOf("check");
    return untilShown(this.#context, call.signal, "the load balancer as it should be", async () => {
      const desired = this.#desired(ports);
      const observed = await this.#observe(balancers, desired, call);
      if (observed === undefined || balancers.publish(desired, observed).kind === "wait") return false;
      const { steps, wait } = await this.#plan(balancers, desired, observed, call);
      if (steps.length > 0 || wait !== undefined) return false;
      if (before === undefined) return true;
      return (await this.#plan(balancers, this.#desired(before), observed, call)).steps.length > 0;
    });
  }

  async #remove(desired: Desired, listed: ObservedLoadBalancer, call: Call): Promise<Milliseconds> {
    const balancers = this.#balancersOf("work");
    const observed = await this.#lookUp(balancers, desired, listed, call);
    if (observed === undefined) return interval;
    const plan = await this.#plan(balancers, desired, observed, call);
    checkPlan(plan);
    const { steps, wait } = plan;
    if (steps.some(({ releases }) => releases === true))
      throw new SmokeFailure(
        "LoadBalancerProtected",
        "The load balancer is protected against deletion. Remove the protection in the cloud.",
      );
    if (steps.length > 0) return (await applyAndWait(this.#stepDeps(balancers), steps, call)) ?? interval;
    if (wait !== undefined) return wait.checkAfter;
    throw new SmokeFailure("NothingPlanned", "The provider plans no step to delete it. Please file a bug.");
  }
}
