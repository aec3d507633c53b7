// Observability for the lifetime of a manager's process: metrics, journal, plans in observe mode, traces, the garbage meter, and
// connection and permission problems.

import type { AccountContext } from "../../cloud/account.ts";
import type { Redaction } from "../../core/redaction.ts";
import { decodingGarbage, GarbageMeter, reconcileGarbage } from "../../platform/memory.ts";
import { Journal } from "../../runtime/journal.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { howToGrant } from "../grant-command.ts";
import { ApiServerProblems, CloudProblems } from "../logging/connection-problems.ts";
import { PlanReporter } from "../logging/observe-reporter.ts";
import { type RequestReporter, requestReporter } from "../logging/request-reporter.ts";
import { ManagerMetrics } from "../metrics/manager-metrics.ts";
import { accessNeeds, leaseOf, permissionsOf } from "../permissions.ts";
import { CloudContact } from "../report/cloud-contact.ts";
import { Deprecations } from "../report/deprecations.ts";
import { MissingPermissions } from "../report/missing-permissions.ts";
import { openTracing, type Tracing } from "../tracing/tracing.ts";
import type { ManagerOptions } from "./manager-options.ts";

export interface Instruments {
  readonly metrics: ManagerMetrics;
  readonly journal: Journal;
  readonly plans: PlanReporter;
  readonly garbage: GarbageMeter;
  /** Undefined unless tracing is enabled. */
  readonly tracing: Tracing | undefined;
  readonly requests: RequestReporter;
  readonly apiServerProblems: ApiServerProblems;
  readonly permissions: MissingPermissions;
  readonly contact: CloudContact;
  readonly deprecations: Deprecations;
  readonly grantHint: (user: string | undefined) => string;
  readonly onCloudCall: AccountContext["report"];
  readonly queues: WatchedQueues;
}

/** The current queue of each controller, by name. */
class WatchedQueues {
  readonly #instruments: Pick<Instruments, "metrics" | "garbage" | "tracing">;
  readonly #current = new Map<string, WorkQueue>();

  constructor(instruments: Pick<Instruments, "metrics" | "garbage" | "tracing">) {
    this.#instruments = instruments;
  }

  /** Called with the queues of all controllers, each time that a controller is composed. */
  watch(queues: Readonly<Record<string, WorkQueue>>): void {
    for (const [name, queue] of Object.entries(queues)) {
      const before = this.#current.get(name);
      if (before === queue) continue;
      before?.close();
      this.#current.set(name, queue);
      this.#observe(name, queue);
    }
  }

  #observe(name: string, queue: WorkQueue): void {
    const { metrics, garbage, tracing } = this.#instruments;
    metrics.queues.watch(name, queue);
    const isOfNodes = name === "Nodes" || name === "node-lifecycle";
    queue.observe({ done: () => (isOfNodes ? garbage.add(reconcileGarbage) : garbage.collectIfGrown()) });
    tracing?.follow(name, queue);
  }
}

export interface InstrumentsDeps {
  readonly name: string;
  readonly identity: string;
  readonly redaction: Redaction;
  readonly life: AbortSignal;
  /** Called when a problem with the cloud is over. */
  readonly onCloudRecovery: () => void;
}

export function openInstruments(
  { settings, platform, log, reloads }: ManagerOptions,
  { name, identity, redaction, life, onCloudRecovery }: InstrumentsDeps,
): Instruments {
  const { flags } = settings;
  const { clock, collectGarbage, residentBytes: resident } = platform;
  const journal = new Journal();
  const metrics = new ManagerMetrics(clock, () => reloads?.isRefused === true);
  const plans = new PlanReporter(log);
  journal.subscribe(metrics.mutation);
  journal.subscribe((entry) => plans.report(entry));
  const garbage = new GarbageMeter({ collect: collectGarbage, resident });
  const tracing = openTracing({
    flags,
    platform,
    log,
    metrics,
    name,
    identity,
    redact: redaction.apply,
    life,
  });
  const requests = requestReporter(log, metrics, new CloudProblems(log, clock, onCloudRecovery), tracing);
  const grantHint = (user: string | undefined): string => howToGrant(name, settings.given, user);
  const contact = new CloudContact(clock);
  const deprecations = new Deprecations(clock);
  return {
    metrics,
    journal,
    plans,
    garbage,
    tracing,
    requests,
    grantHint,
    contact,
    deprecations,
    apiServerProblems: new ApiServerProblems(log, clock),
    permissions: new MissingPermissions(
      permissionsOf(accessNeeds(settings, settings.cloud.inputSecrets), leaseOf(flags)),
      grantHint,
      log,
    ),
    onCloudCall: (call) => {
      requests.cloud(call);
      garbage.add(decodingGarbage * (call.size ?? 0));
      contact.record(call);
      for (const found of call.announced ?? []) deprecations.note("cloud", found);
    },
    queues: new WatchedQueues({ metrics, garbage, tracing }),
  };
}
