// The ports, opened: the secure port with its pages, and the webhook's if one is asked for. There is one set for each
// process; it shows whichever manager runs, also while another replica leads.

import type { Listen } from "../../platform/listener.ts";
import type { RuntimeFigures } from "../../platform/runtime-figures.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import { Health } from "../../server/health.ts";
import { SecurePort } from "../../server/secure-port.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import type { Flags } from "../flags/table.ts";
import type { Manager } from "../manager/manager.ts";
import { createProcessWideMetrics } from "../metrics/process-wide-metrics.ts";
import { createHealthMetrics } from "../metrics/serving-metrics.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { createGate } from "./access-control.ts";
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
  /** Undefined when there is no port. */
  readonly port: number | undefined;
  readonly health: Health;
  /** From now on the pages are about this one. */
  show(manager: Manager): void;
  close(): Promise<void>;
}

/** Throws a ConfigurationError for what the operator must mend, a port in use among it. */
export async function openServing(options: ServingOptions, first: Manager): Promise<Serving> {
  const { flags, platform, log, listen, figures, program, provider, setVerbosity } = options;
  const { clock } = platform;
  const healthMetrics = createHealthMetrics();
  const health = new Health(healthMetrics.result);
  const metrics = createProcessWideMetrics(clock, figures);
  const end = new AbortController();
  let shown = first;
  let removeChecks = addChecks(health, first);
  const manager = (): Manager => shown;
  const show = (next: Manager): void => {
    shown = next;
    removeChecks();
    removeChecks = addChecks(health, next);
  };
  const webhook = await openWebhook({ ...{ flags, provider, program, platform, listen, log, metrics } });
  const followed: readonly Task[] =
    webhook === undefined ? [] : [{ name: "webhook certificates", run: webhook.follow }];
  const checkAfter = (tasks: readonly Task[]): Promise<void> =>
    runTogether(tasks, end.signal).catch((error: unknown) =>
      log.error(
        `Certificates and authorities of the ports are not read again any more; restart this process: ${String(error)}`,
      ),
    );
  const close = async (
    running: Promise<void>,
    ...ports: readonly ({ close(): Promise<void> } | undefined)[]
  ) => {
    end.abort(new Error("the ports close"));
    await Promise.all([...ports.map((port) => port?.close()), running]);
  };
  if (flags["secure-port"] === 0) {
    const running = checkAfter(followed);
    return { port: undefined, health, show, close: () => close(running, webhook) };
  }

  const { tasks, authenticate, authorize } = await createGate({
    ...{ flags, platform, log, program, manager },
    onReview: metrics.review,
    signal: end.signal,
  });
  const pages = createPages({
    ...{ program, flags, clock, figures, health, healthMetrics, manager },
    setVerbosity: (level: number) => {
      setVerbosity(level);
      log.info(`The level of the log is ${level} now, as /debug/flags/v was told`);
    },
    provider: provider.name,
    processMetrics: metrics,
    signal: end.signal,
  });
  const securePort = new SecurePort({
    authenticate,
    authorize,
    pages,
    onInternalError: (path, error) => log.error(`The page ${path} failed: ${String(error)}`),
  });
  const port = await listenOn(securePortFlags(flags), {
    ...{ platform, log, listen },
    asksForCertificate: true,
    handle: (request) => securePort.handle(request),
    onCertificate: (endsAt) => metrics.certificateEnds("secure", endsAt),
  }).catch(async (error: unknown) => {
    await webhook?.close();
    throw error;
  });
  log.info(`Health, metrics and state are served on ${flags["bind-address"]}:${port.number}`);
  const running = checkAfter([
    ...tasks,
    ...followed,
    { name: "certificates", run: port.follow },
    { name: "event loop", run: metrics.measureLag },
  ]);
  return { port: port.number, health, show, close: () => close(running, port, webhook) };
}
