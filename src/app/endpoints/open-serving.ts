// Opens the secure port and the webhook port. Their pages show the running manager, on standby replicas too.

import type { Listen } from "../../platform/listener.ts";
import type { RuntimeFigures } from "../../platform/runtime-figures.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import { Health } from "../../server/health.ts";
import { SecurePort } from "../../server/secure-port.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import type { Flags } from "../flags/table.ts";
import type { Manager } from "../manager/manager.ts";
import { createProcessMetrics } from "../metrics/process-metrics.ts";
import { createHealthMetrics } from "../metrics/serving-metrics.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { createAccessControl } from "./access-control.ts";
import { securePortFlags } from "./endpoint-flags.ts";
import { addChecks } from "./health-checks.ts";
import { listenOn } from "./listen-on.ts";
import { openWebhook } from "./open-webhook.ts";
import { createPages } from "./secure-pages.ts";

export interface ServingOptions {
  readonly flags: Flags;
  readonly platform: ManagerPlatform;
  readonly listen: Listen;
  readonly figures: RuntimeFigures;
  readonly log: Log;
  readonly program: string;
  readonly provider: AnyProvider;
  readonly setVerbosity: (level: number) => void;
}

export interface Serving {
  /** Undefined if the secure port is disabled. */
  readonly port: number | undefined;
  readonly health: Health;
  close(): Promise<void>;
}

/** Throws a ConfigurationError for invalid flags, and for a port that is in use. */
export async function openServing(options: ServingOptions, manager: Manager): Promise<Serving> {
  const { flags, platform, log, listen, figures, program, provider, setVerbosity } = options;
  const { clock } = platform;
  const healthMetrics = createHealthMetrics();
  const health = new Health(healthMetrics.result);
  const metrics = createProcessMetrics(clock, figures);
  const end = new AbortController();
  addChecks(health, manager);
  const webhook = await openWebhook({ flags, provider, program, platform, listen, log, metrics });
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

  const { tasks, authenticate, authorize } = await createAccessControl({
    flags,
    platform,
    log,
    program,
    manager,
    onReview: metrics.review,
    signal: end.signal,
  });
  const pages = createPages({
    program,
    flags,
    clock,
    figures,
    health,
    healthMetrics,
    manager,
    setVerbosity: (level: number) => {
      setVerbosity(level);
      log.info(`Log verbosity set to ${level} through /debug/flags/v`);
    },
    provider: provider.name,
    processMetrics: metrics,
    signal: end.signal,
  });
  const securePort = new SecurePort({
    authenticate,
    authorize,
    pages,
    onInternalError: (path, error) =>
      log.error(`Internal error in the page ${path}; please file a bug: ${String(error)}`),
  });
  const port = await listenOn(securePortFlags(flags), {
    platform,
    log,
    listen,
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
