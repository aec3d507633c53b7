// Opens the secure port and the webhook port with the manager's health checks. The pages show the
// running manager, even on standby replicas.

import { minutes } from "../../core/brand.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import { Health } from "../../server/health.ts";
import { SecurePort } from "../../server/secure-port.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { Manager } from "../manager/manager.ts";
import { createHealthMetrics, createProcessMetrics } from "../metrics/process-metrics.ts";
import { createAccessControl } from "./access-control.ts";
import { listenOn, securePortFlags } from "./listen-on.ts";
import { openWebhook } from "./open-webhook.ts";
import type { PortContext, ServingOptions } from "./port-context.ts";
import { createPages } from "./secure-pages.ts";

const taskQueues = {
  "cloud-node": "Nodes",
  "cloud-node-lifecycle": "node-lifecycle",
  service: "service",
  "node-route": "Routes",
  "kubelet-serving-csr": "kubelet-serving-csr",
  volume: "volume",
  tagging: "tagging",
} as const satisfies Record<ControllerName, string>;

/** Every call has a deadline of some seconds, so a worker that spends this long on one key is stuck. */
const stuckAfter = minutes(10);

function stuck(manager: Manager, name: ControllerName): string | undefined {
  const since = manager.metrics.queues.longestActive(taskQueues[name]);
  return since * 1000 > stuckAfter
    ? `a worker of ${name} has processed the same key for ${Math.round(since)}s; restart this process, so that another replica takes over`
    : undefined;
}

function unsynced(manager: Manager): string | undefined {
  const missing = Object.entries(manager.caches()).filter(([, { isSynced }]) => !isSynced);
  return missing.length === 0 ? undefined : `not synced yet: ${missing.map(([name]) => name).join(", ")}`;
}

/**
 * /healthz, as in upstream: leader election and controllers. /livez: watches are not stalled. /readyz:
 * the caches are synced and the cloud has answered once; standby replicas count as ready.
 */
function addChecks(health: Health, manager: Manager): void {
  const controllers = (Object.keys(taskQueues) as ControllerName[]).filter((name) =>
    manager.controllers.includes(name),
  );
  if (manager.flags["leader-elect"]) {
    health.add({ name: "leaderElection", pages: ["healthz", "livez"], check: manager.leadershipHealth });
  }
  health.add({ name: "watches", pages: ["livez"], check: manager.stalled });
  for (const name of controllers) {
    health.add({ name, pages: ["healthz", "livez"], check: () => stuck(manager, name) });
  }
  health.add({ name: "caches-synced", pages: ["readyz"], check: () => unsynced(manager) });
  health.add({ name: "cloud", pages: ["readyz"], check: () => manager.cloudProblem()?.text });
  health.add({
    name: "permissions",
    pages: ["readyz"],
    check: () => manager.permissions.problem,
    note: () => manager.permissions.notice,
  });
}

export interface Serving {
  /** Undefined if the secure port is disabled. */
  readonly port: number | undefined;
  readonly health: Health;
  close(): Promise<void>;
}

/** Throws a ConfigurationError for invalid flags, and for a port that is in use. */
export async function openServing(options: ServingOptions, manager: Manager): Promise<Serving> {
  const { flags, platform, log } = options;
  const healthMetrics = createHealthMetrics();
  const health = new Health(healthMetrics.result);
  const metrics = createProcessMetrics(platform.clock, options.figures);
  const end = new AbortController();
  const context: PortContext = { ...options, manager, metrics, signal: end.signal };
  addChecks(health, manager);
  const webhook = await openWebhook(context);
  const webhookTasks: readonly Task[] =
    webhook === undefined ? [] : [{ name: "webhook certificates", run: webhook.follow }];
  const runTasks = (tasks: readonly Task[]): Promise<void> =>
    runTogether(tasks, end.signal).catch((error: unknown) =>
      log.error(
        `Internal error; certificates are no longer reloaded. Restart this process, and please file a bug: ${String(error)}`,
      ),
    );
  const close = async (
    running: Promise<void>,
    ...ports: readonly ({ close(): Promise<void> } | undefined)[]
  ) => {
    end.abort(new Error("the ports are closing"));
    await Promise.all([...ports.map((port) => port?.close()), running]);
  };
  if (flags["secure-port"] === 0) {
    const running = runTasks(webhookTasks);
    return { port: undefined, health, close: () => close(running, webhook) };
  }

  const { tasks, authenticate, authorize } = await createAccessControl(context);
  const pages = createPages(context, health, healthMetrics);
  const securePort = new SecurePort({
    clock: platform.clock,
    redact: (text) => platform.redaction?.apply(text) ?? text,
    authenticate,
    authorize,
    pages,
    onInternalError: (path, error) =>
      log.error(`Internal error in the page ${path}; please file a bug: ${String(error)}`),
  });
  const port = await listenOn(securePortFlags(flags), context, {
    asksForCertificate: true,
    handle: (request) => securePort.handle(request),
    onCertificate: (endsAt) => metrics.certificateEnds("secure", endsAt),
  }).catch(async (error: unknown) => {
    await webhook?.close();
    throw error;
  });
  log.info(`Serving health checks, metrics and debugging pages on ${flags["bind-address"]}:${port.number}`);
  const running = runTasks([
    ...tasks,
    ...webhookTasks,
    { name: "certificates", run: port.follow },
    { name: "event loop", run: metrics.measureLag },
  ]);
  return { port: port.number, health, close: () => close(running, port, webhook) };
}
