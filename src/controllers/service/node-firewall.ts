// Maintains the Node firewall in clouds that have one: the ports that Services open, in a single set of rules. Runs with the
// service controller. Changes of Services are collected for a second, so that a burst causes one change of the firewall.

import { minutes, seconds, serviceUID } from "../../core/brand.ts";
import { textOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import { willRetry } from "../../core/retry-promise.ts";
import type { Fields } from "../../core/settings.ts";
import { keyOf } from "../../kube/objects.ts";
import type { ExposedService, ObservedFirewall } from "../../provider/node-firewall.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue } from "../../runtime/workers.ts";
import { problemOfError } from "../classify-error.ts";
import type { JournalledSend } from "../kernel/journalled-send.ts";
import { removalWindow } from "../kernel/removal-kinds.ts";
import { allowedRemovals } from "../kernel/removal-limit.ts";
import { type Reconciler, runController, type Subscriptions } from "../kernel/run-controller.ts";
import type { ServiceControllerDeps } from "./deps.ts";
import {
  exposureOf,
  type FirewallHistory,
  type FirewallHistoryDeps,
  type FirewallProblem,
  isExposed,
  toExposed,
} from "./firewall-history.ts";
import { type FirewallPlan, planFirewall } from "./firewall-plan.ts";

export interface NodeFirewallDeps
  extends FirewallHistoryDeps,
    Pick<ServiceControllerDeps, "report" | "random" | "settings"> {
  readonly send: JournalledSend;
  /** Reports a problem that does not concern a single Service. */
  readonly reportFirewall: (problem: Problem) => void;
}

const key = "firewall";
/** The same interval as in DigitalOcean's Go manager. */
const checkInterval = minutes(5);
const collectFor = seconds(1);

const maxListed = 5;

function listOf(ports: readonly string[]): string {
  if (ports.length === 0) return "none";
  const more = ports.length - maxListed;
  return `${ports.slice(0, maxListed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export class NodeFirewallController implements Reconciler {
  readonly queue: WorkQueue;
  readonly #deps: NodeFirewallDeps;
  readonly #history: FirewallHistory;
  #observed: { readonly at: number; readonly firewall: ObservedFirewall<unknown> } | undefined;

  /** `history`: the history of this process. */
  constructor(deps: NodeFirewallDeps, history: FirewallHistory) {
    this.#deps = deps;
    this.#history = history;
    this.queue = new WorkQueue(deps.clock);
  }

  /** Runs for one leadership session. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return runController(this, { ...this.#deps, concurrency: 1 }, signal);
  }

  *begin(): Subscriptions {
    this.queue.add(key);
    const { services, classes } = this.#deps;
    yield services.subscribe(({ before, after }) => {
      if (exposureOf(before, classes) !== exposureOf(after, classes))
        this.queue.add(key, { delay: collectFor });
    });
  }

  async reconcile(_: string, signal: AbortSignal): Promise<Outcome> {
    const { firewall, clock, send } = this.#deps;
    const { services, problems } = this.#exposed();
    const now = clock.monotonic();
    const known = this.#observed;
    const age = known === undefined ? checkInterval : now - known.at;
    if (
      known !== undefined &&
      age < checkInterval &&
      planFirewall(firewall, services, known.firewall).step === undefined
    )
      return requeue(seconds((checkInterval - age) / 1000), "the regular check");
    const call = { signal, urgency: known === undefined ? "refresh" : "user-change" } as const;
    const observed = await firewall.observe(call);
    this.#observed = { at: now, firewall: observed };
    const plan = planFirewall(firewall, services, observed);
    const hold = this.#holdOf(plan, now);
    this.#report("problems", [...problems, ...(observed.problems ?? []), ...hold]);
    const isHeld = hold.length > 0;
    const step = isHeld ? plan.opening : plan.step;
    if (step !== undefined) {
      // The result of a change is read before the next change.
      this.#observed = undefined;
      const closes = isHeld ? [] : plan.closes;
      const change = {
        action: step.do,
        object: `firewall/${step.on ?? ""}`,
        why: `Services open other ports: opens ${listOf(plan.opens)}, closes ${listOf(closes)}`,
      };
      await send([change], () => firewall.apply(step, call));
    }
    this.#report("errors", []);
    if (!isHeld) this.#history.explain(plan.closes.length);
    return requeue(checkInterval, "the regular check");
  }

  #exposed(): {
    readonly services: readonly ExposedService<Fields>[];
    readonly problems: readonly FirewallProblem[];
  } {
    const { services, classes } = this.#deps;
    const all = services
      .list()
      .filter((service) => isExposed(service, classes))
      .toSorted((one, other) => (keyOf(one.metadata) < keyOf(other.metadata) ? -1 : 1))
      .map((service) => toExposed(this.#deps, service));
    return { services: all.map(({ exposed }) => exposed), problems: all.flatMap(({ problems }) => problems) };
  }

  /** An empty or restored cluster must not close the ports of a working cluster. */
  #holdOf({ closes, open }: FirewallPlan, now: number): readonly FirewallProblem[] {
    const { removalLimit } = this.#deps.settings;
    const seen = this.#history.seenSince(now - removalWindow);
    const count = closes.length;
    if (removalLimit === "off" || count <= seen + allowedRemovals(removalLimit, open)) return [];
    const text = `${count} of the ${open} ports that the firewall of the Nodes opens belong to no Service, and only ${seen} belong to Services that were seen to be deleted or changed. This may be another cluster, or one that was restored, so no port is closed; new ones are opened. To close them anyway, set --removal-limit=off until they are closed: ${listOf(closes)}.`;
    return [{ severity: "hold", reason: "FirewallChangeHeld", text }];
  }

  #report(kind: "problems" | "errors", problems: readonly FirewallProblem[]): void {
    const { services, report, reportFirewall } = this.#deps;
    for (const { service: owner, ...problem } of this.#history.board.put(kind, problems)) {
      const service = owner && services.get(keyOf(owner));
      if (service !== undefined && serviceUID(service.metadata.uid) === owner?.uid) report(service, problem);
      else reportFirewall(problem);
    }
  }

  onError(_: string, error: unknown): undefined {
    const problem = problemOfError(error);
    if (problem !== undefined) {
      const text = `The firewall of the Nodes stays as it is: ${textOf(error)}`;
      this.#report("errors", [{ ...problem, text, promise: willRetry }]);
    }
    this.#observed = undefined;
  }
}
