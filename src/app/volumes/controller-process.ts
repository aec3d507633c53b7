// The process that serves the CSI controller: the guarded cloud, without a manager and without the API server.

import type { AccountContext } from "../../cloud/account.ts";
import { type AbandonedCall, withDeadlines } from "../../cloud/call-deadlines.ts";
import { Redaction } from "../../core/redaction.ts";
import { systemFigures } from "../../platform/memory.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { VolumeDriver, Volumes } from "../../provider/volumes.ts";
import { linkedController } from "../../runtime/abortable.ts";
import type { Log } from "../../telemetry/log.ts";
import { CloudVolumes } from "../../volumes/csi/cloud-volumes.ts";
import { controllerService, identityService } from "../../volumes/csi/controller-service.ts";
import { csiSchema, csiServices } from "../../volumes/csi/spec.ts";
import { version } from "../build-info.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { ConfigurationReloads } from "../configuration/configuration-reloads.ts";
import { ReloadRequests } from "../configuration/reload-requests.ts";
import { connectCloud } from "../connect-cloud.ts";
import { createCloudMetrics } from "../metrics/request-metrics.ts";
import { createCsiMetrics } from "./csi-metrics.ts";
import { serveHttp } from "./http-endpoint.ts";
import { type CsiProcess, missingSocket, serveCsi, socketPathOf } from "./serve-csi.ts";

/** The provider's volume driver. Throws if the cloud has no volumes. */
export function driverOf({ provider }: Pick<CsiProcess, "provider">): VolumeDriver {
  if (provider.volumeDriver !== undefined) return provider.volumeDriver;
  const text = `The provider ${provider.name} has no volumes, so there is nothing to serve. Use the CSI driver of the cloud.`;
  throw new ConfigurationError([{ severity: "error", reason: "NoVolumes", text }]);
}

type VolumeCloud = AnyCloud & { readonly volumes: Volumes };

interface ConnectOptions {
  readonly signal: AbortSignal;
  readonly onAbandoned: (call: AbandonedCall) => void;
  readonly onRequest: AccountContext["report"];
}

/** Throws a ConfigurationError if the settings cannot be used. */
function connect(
  { provider, platform }: CsiProcess,
  { settings }: Pick<Configuration, "settings">,
  { signal, onAbandoned, onRequest }: ConnectOptions,
): VolumeCloud {
  const { clock, random, environment, cloudTransport: transport, redaction = new Redaction() } = platform;
  const { flags, cloud: sources } = settings;
  const { connected, problems } = connectCloud(
    provider,
    { environment, ...sources, cluster: flags["cluster-name"] },
    {
      transport,
      clock,
      random,
      redaction,
      signal,
      deadline: flags["cloud-call-timeout"],
      mayMutate: () => flags.mode !== "observe" || { reason: "--mode=observe changes nothing." },
      report: onRequest,
    },
  );
  if (connected === undefined) throw new ConfigurationError(problems);
  const cloud = withDeadlines(connected.cloud, { clock, onAbandoned, redaction });
  const { volumes } = cloud;
  if (volumes !== undefined) return { ...cloud, volumes };
  const text = `The settings of ${provider.name} leave it without volumes, so there is nothing to serve. Correct the settings.`;
  throw new ConfigurationError([{ severity: "error", reason: "NoVolumes", text }]);
}

export interface ControllerProcess extends CsiProcess {
  /** Reads the configuration again, for reloads. */
  readonly readConfiguration: () => Promise<Configuration>;
}

/** Runs until stopped. Returns whether the stop was requested. */
export async function runController(invocation: ControllerProcess, log: Log): Promise<boolean> {
  const { platform, signal, configuration, console } = invocation;
  const driver = driverOf(invocation);
  const { controller: life, unlink } = linkedController(signal);
  const onAbandoned = ({ operation, object }: AbandonedCall): void => {
    // The call may still change the cloud, which only the end of the process prevents.
    log.error(
      `The provider did not end ${operation}${object === "" ? "" : ` (${object})`} after its cancellation, so this process ends. It must be started again. Report this to the author of the provider.`,
    );
    life.abort(new Error("a call to the cloud did not end"));
  };
  const sockets: string[] = [];
  const { metrics, call: onCall } = createCsiMetrics({
    driver: driver.name,
    figures: systemFigures,
    isReady: () => sockets.length > 0,
  });
  const options = { signal: life.signal, onAbandoned, onRequest: createCloudMetrics(metrics) };
  let cloud = connect(invocation, configuration, options);
  const volumes = new CloudVolumes({
    get volumes() {
      return cloud.volumes;
    },
    get pending() {
      return cloud.pending;
    },
    clock: platform.clock,
    life: life.signal,
  });
  const reloads = new ConfigurationReloads({
    first: configuration,
    readConfiguration: invocation.readConfiguration,
    provider: invocation.provider,
    environment: platform.environment,
    files: platform.files,
    clock: platform.clock,
    log,
    reloads: console.reloads ?? new ReloadRequests(),
    prepare: (next) => {
      const replacement = connect(invocation, next, options);
      return async () => {
        cloud = replacement;
      };
    },
    onReload: () => console.systemd?.ready(),
  });
  const path = socketPathOf(invocation);
  const http = await serveHttp(configuration, log, {
    unhealthy: () => missingSocket(invocation, sockets),
    notReady: () => (sockets.length === 0 ? "The socket is not open yet." : undefined),
    metrics: () => metrics.text(),
  });
  try {
    const onListen = (): void => {
      sockets.push(path);
      console.systemd?.ready();
    };
    const serving = serveCsi(invocation, log, { path, signal: life.signal, onCall, onListen }, (server) => {
      const identity = identityService({ driver, version });
      const controller = controllerService({ driver, volumes, warn: (text) => log.warn(text) });
      server.add("csi.v1.Identity", csiSchema, csiServices.Identity, identity);
      server.add("csi.v1.Controller", csiSchema, csiServices.Controller, controller);
    });
    await Promise.all([serving.finally(() => life.abort()), reloads.run(life.signal)]);
  } finally {
    life.abort();
    unlink();
    await http?.close();
  }
  return signal.aborted;
}
