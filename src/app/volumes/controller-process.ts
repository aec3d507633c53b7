// The process that serves the CSI controller: the guarded cloud, without a manager and without the API server.

import { type AbandonedCall, withCallGuard } from "../../cloud/call-guard.ts";
import { Redaction } from "../../core/redaction.ts";
import { CloudVolumes } from "../../csi/cloud-volumes.ts";
import { controllerService, identityService } from "../../csi/controller-service.ts";
import { csiSchema, csiServices } from "../../csi/spec.ts";
import type { VolumeDriver, Volumes } from "../../provider/volumes.ts";
import { linkedController } from "../../runtime/abortable.ts";
import type { Log } from "../../telemetry/log.ts";
import { version } from "../build-info.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { type AnyCloud, connectCloud } from "../connect-cloud.ts";
import { type CsiProcess, serveCsi, socketPathOf } from "./serve-csi.ts";

/** The driver of the provider. Throws where there are no volumes. */
export function driverOf({ provider }: Pick<CsiProcess, "provider">): VolumeDriver {
  if (provider.volumeDriver !== undefined) return provider.volumeDriver;
  const text = `The provider ${provider.name} has no volumes, so there is nothing to serve. Use the CSI driver of the cloud.`;
  throw new ConfigurationError([{ severity: "error", reason: "NoVolumes", text }]);
}

function connect(
  { provider, platform, configuration }: CsiProcess,
  signal: AbortSignal,
  onAbandoned: (call: AbandonedCall) => void,
): AnyCloud & { readonly volumes: Volumes } {
  const { clock, random, environment, cloudTransport: transport, redaction = new Redaction() } = platform;
  const { flags, cloud: sources } = configuration.settings;
  const { connected, problems } = connectCloud(
    provider,
    { environment, ...sources, cluster: flags["cluster-name"] },
    {
      ...{ transport, clock, random, redaction, signal, deadline: flags["cloud-call-timeout"] },
      mayMutate: () => flags.mode !== "observe" || { reason: "--mode=observe changes nothing." },
      report: () => undefined,
    },
  );
  if (connected === undefined) throw new ConfigurationError(problems);
  const cloud = withCallGuard(connected.cloud, { clock, replaced: signal, onAbandoned, redaction });
  const { volumes } = cloud;
  if (volumes !== undefined) return { ...cloud, volumes };
  const text = `The settings of ${provider.name} leave it without volumes, so there is nothing to serve. Correct the settings.`;
  throw new ConfigurationError([{ severity: "error", reason: "NoVolumes", text }]);
}

/** Runs until it is stopped. Returns whether it was stopped as requested. */
export async function runController(invocation: CsiProcess, log: Log): Promise<boolean> {
  const { platform, signal } = invocation;
  const driver = driverOf(invocation);
  const { controller: life, unlink } = linkedController(signal);
  const onAbandoned = ({ operation, object }: AbandonedCall): void => {
    // The call may still change the cloud. Only the end of the process prevents that.
    log.error(
      `The provider did not end ${operation}${object === "" ? "" : ` (${object})`} after its cancellation, so this process ends. It must be started again. Report this to the author of the provider.`,
    );
    life.abort(new Error("a call to the cloud did not end"));
  };
  const cloud = connect(invocation, life.signal, onAbandoned);
  const volumes = new CloudVolumes({
    ...{ volumes: cloud.volumes, pending: cloud.pending },
    ...{ clock: platform.clock, life: life.signal },
  });
  try {
    const socket = { path: socketPathOf(invocation), signal: life.signal };
    await serveCsi(invocation, log, socket, (server) => {
      const identity = identityService({ driver, version });
      const controller = controllerService({ driver, volumes, warn: (text) => log.warn(text) });
      server.add("csi.v1.Identity", csiSchema, csiServices.Identity, identity);
      server.add("csi.v1.Controller", csiSchema, csiServices.Controller, controller);
    });
  } finally {
    unlink();
  }
  return signal.aborted;
}
