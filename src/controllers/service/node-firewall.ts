// Keeps the firewall of the Nodes, in clouds that have one: the ports that Services open, in one set of rules. It runs with the service
// controller. Changes of Services are collected for a second, so that a burst of them is one change of the firewall.

import { minutes, seconds, serviceUID } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { Fields } from "../../core/settings.ts";
import { keyOf, type Service } from "../../kube/objects.ts";
import type { Change } from "../../kube/watch/store.ts";
import type { ExposedService, NodeFirewall, ObservedFirewall } from "../../provider/node-firewall.ts";
import type { Step } from "../../provider/plan.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers } from "../../runtime/workers.ts";
import { allowedRemovals } from "../absence/mass-limit.ts";
import { removalWindow } from "../absence/removal-history.ts";
import { delayAfterError, describeError } from "../classify-error.ts";
import { isPaused } from "../pause.ts";
import type { ObjectEvent } from "../reporter.ts";
import type { JournalledSend } from "../writes/journalled-send.ts";
import { annotationKey, readAnnotations } from "./annotations/annotations.ts";
import type { ServiceControllerDeps } from "./deps.ts";
import { readFacts } from "./desired/facts.ts";
import { toDesired } from "./desired/to-desired.ts";
import { type FirewallPlan, planFirewall } from "./firewall-plan.ts";
import { isBeingDeleted, wantsLoadBalancer } from "./predicates.ts";

export interface NodeFirewallDeps
  extends Pick<
    ServiceControllerDeps,
    "services" | "annotations" | "facts" | "report" | "clock" | "random" | "settings"
  > {
  readonly firewall: NodeFirewall<Fields, Step>;
  readonly send: JournalledSend;
  /** Reports what concerns no single Service. */
  readonly reportFirewall: (event: ObjectEvent) => void;
}

interface Reported extends Pick<Problem, "reason" | "text"> {
  readonly service?: ExposedService<Fields>["owner"] | undefined;
}

const key = "firewall";
/** As in the Go manager of DigitalOcean. */
const checkInterval = minutes(5);
const collectFor = seconds(1);

const maxListed = 5;

function listOf(ports: readonly string[]): string {
  if (ports.length === 0) return "none";
  const more = ports.length - maxListed;
  return `${ports.slice(0, maxListed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const isExposed = (service: Service): boolean =>
  service.spec.type === "NodePort" || wantsLoadBalancer(service);

/** Changes of anything else open or close no port. */
function exposureOf(service: Service | undefined): string {
  if (service === undefined || !isExposed(service)) return "";
  const { type, ports, healthCheckNodePort } = service.spec;
  return JSON.stringify([type, ports, healthCheckNodePort, service.metadata.annotations]);
}

/** A Service with a load balancer cannot disappear without a deletion before. */
function isSeen({ before, after, isFromList }: Change<Service>): boolean {
  return before !== undefined && (isFromList !== true || after !== undefined || isBeingDeleted(before));
}

export class NodeFirewallController {
  readonly queue: WorkQueue;
  readonly #deps: NodeFirewallDeps;
  /** Ports of Services that were seen to change or to be deleted, within the window of the mass limits. */
  #seen: { readonly at: number; readonly ports: number }[] = [];
  #observed: { readonly at: number; readonly firewall: ObservedFirewall<unknown> } | undefined;
  readonly #reported = { problems: new Set<string>(), errors: new Set<string>() };

  constructor(deps: NodeFirewallDeps) {
    this.#deps = deps;
    this.queue = new WorkQueue(deps.clock);
    // For the life of the process, because the next leader must know which changes were seen.
    deps.services.subscribe((change) => {
      if (exposureOf(change.before) === exposureOf(change.after)) return;
      const ports = this.#closedBy(change);
      if (isSeen(change) && ports > 0) this.#seen.push({ at: deps.clock.monotonic(), ports });
      if (this.queue.work.isRunning) this.queue.add(key, { delay: collectFor });
    });
  }

  /** Runs for one leadership session. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    this.reconsider();
    const worker = {
      queue: this.queue,
      count: () => 1,
      reconcile: (_: string, stop: AbortSignal) => this.#reconcile(stop),
      onError: (_: string, error: unknown, failures: number) => this.#onError(error, failures),
      clock,
    };
    await runWorkers(worker, signal);
  }

  /** The settings may have changed. */
  reconsider(): void {
    this.#observed = undefined;
    this.queue.add(key);
  }

  async #reconcile(signal: AbortSignal): Promise<Outcome> {
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
      // What is applied is read before the next change.
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
    if (!isHeld) this.#explain(plan.closes.length);
    return requeue(checkInterval, "the regular check");
  }

  #exposed(): {
    readonly services: readonly ExposedService<Fields>[];
    readonly problems: readonly Reported[];
  } {
    const { services } = this.#deps;
    const all = services
      .list()
      .filter(isExposed)
      .toSorted((one, other) => (keyOf(one.metadata) < keyOf(other.metadata) ? -1 : 1))
      .map((service) => this.#toExposed(service));
    return { services: all.map(({ exposed }) => exposed), problems: all.flatMap(({ problems }) => problems) };
  }

  #toExposed(service: Service) {
    const { annotations, facts: places, firewall } = this.#deps;
    const { settings, frozen, problems } = readAnnotations(annotations, service);
    const facts = readFacts(service, places);
    const desired = toDesired({ service, settings, facts, targets: [], sourceRanges: undefined });
    const type = service.spec.type === "NodePort" ? "NodePort" : "LoadBalancer";
    const invalid = firewall.deciding.filter((name) => frozen.has(name));
    const keys = invalid.map((name) => annotationKey(name, annotations.prefix));
    const advice =
      "No port of the Nodes is opened for this Service until it is corrected, and open ones stay open.";
    const exposed: ExposedService<Fields> = {
      ...desired,
      type,
      isHeld: isPaused(service) || invalid.length > 0,
    };
    return {
      exposed,
      // The service controller reports those of load balancers.
      problems: problems.flatMap(({ reason, text, key }) =>
        type === "NodePort" && key !== undefined && keys.includes(key)
          ? [{ reason, text: `${text} ${advice}`, service: desired.owner }]
          : [],
      ),
    };
  }

  /** How many ports the Service no longer opens, with that of its health check. */
  #closedBy({ before, after }: Change<Service>): number {
    const { firewall } = this.#deps;
    const opens = (service: Service | undefined) =>
      service === undefined || !isExposed(service)
        ? []
        : firewall.rulesOf(this.#toExposed(service).exposed, undefined).map(firewall.textOf);
    const opened = opens(after);
    const closed = opens(before).filter((one) => !opened.includes(one));
    return closed.length === 0 ? 0 : closed.length + 1;
  }

  /** What was closed needs its explanation no longer. Load balancers forward for a while after their Service has changed. */
  #explain(closed: number): void {
    let left = closed;
    this.#seen = this.#seen.flatMap(({ at, ports }) => {
      const used = Math.min(ports, left);
      left -= used;
      return used === ports ? [] : [{ at, ports: ports - used }];
    });
  }

  /** An empty or restored cluster must not close the ports of a working one. */
  #holdOf({ closes, open }: FirewallPlan, now: number): readonly Reported[] {
    const { removalLimit } = this.#deps.settings;
    this.#seen = this.#seen.filter(({ at }) => at > now - removalWindow);
    const seen = this.#seen.reduce((sum, { ports }) => sum + ports, 0);
    const count = closes.length;
    if (removalLimit === "off" || count <= seen + allowedRemovals(removalLimit, open)) return [];
    const text = `${count} of the ${open} ports that the firewall of the Nodes opens belong to no Service, and only ${seen} belong to Services that were seen to be deleted or changed. This may be another cluster, or one that was restored, so no port is closed; new ones are opened. To close them anyway, set --removal-limit=off until they are closed: ${listOf(closes)}.`;
    return [{ reason: "FirewallChangeHeld", text }];
  }

  #report(kind: "problems" | "errors", problems: readonly Reported[]): void {
    const { services, report, reportFirewall } = this.#deps;
    const before = this.#reported[kind];
    this.#reported[kind] = new Set(problems.map(({ text }) => text));
    for (const { reason, text, service: owner } of problems) {
      if (before.has(text)) continue;
      const service = owner && services.get(keyOf(owner));
      const event = { type: "Warning", reason, message: text } as const;
      if (service !== undefined && serviceUID(service.metadata.uid) === owner?.uid) report(service, event);
      else reportFirewall(event);
    }
  }

  #onError(error: unknown, failures: number): Outcome {
    const problem = describeError(error);
    if (problem !== undefined) {
      const text = `The firewall of the Nodes stays as it is: ${messageOf(error)} Fairlead will retry.`;
      this.#report("errors", [{ reason: problem.reason, text }]);
    }
    this.#observed = undefined;
    return requeue(delayAfterError(error, failures, this.#deps), "an error");
  }
}
