// The process that serves volumes on each Node: it learns from the Node who it is, and needs no credentials of the cloud.

import { volumeNodeOf } from "../../controllers/volume/volume-node.ts";
import { seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { identityService } from "../../csi/controller-service.ts";
import { type NodeIdentity, nodeService } from "../../csi/node-service.ts";
import { addRegistration } from "../../csi/registration.ts";
import { csiSchema, csiServices } from "../../csi/spec.ts";
import { nodes } from "../../kube/resources.ts";
import { sleep } from "../../platform/clock.ts";
import { systemDisks } from "../../platform/system-disks.ts";
import type { VolumeDriver } from "../../provider/volumes.ts";
import { linkedController } from "../../runtime/abortable.ts";
import type { Log } from "../../telemetry/log.ts";
import { version } from "../build-info.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { readingClient } from "../operator.ts";
import { driverOf } from "./controller-process.ts";
import { type CsiProcess, serveCsi, socketPathOf } from "./serve-csi.ts";

const interval = seconds(2);

/** Waits until the manager has initialized the Node. */
async function readIdentity(
  { platform, program, configuration }: CsiProcess,
  driver: VolumeDriver,
  log: Log,
  signal: AbortSignal,
): Promise<NodeIdentity> {
  const { flags } = configuration.settings;
  const name =
    flags["node-name"] ?? platform.environment["NODE_NAME"] ?? platform.environment["KUBE_NODE_NAME"];
  if (name === undefined) {
    const text =
      "--node-name is required: the name of the Node of this machine. Set it, or the variable NODE_NAME.";
    throw new ConfigurationError([{ severity: "error", reason: "MissingFlag", text }]);
  }
  const { api } = await readingClient(flags, platform, `${program}/${version} node-volumes`, signal);
  for (let reported = ""; ; ) {
    const found = await api
      .get(nodes, { name }, signal)
      .then((node) => volumeNodeOf(node, driver))
      .catch((error: unknown) => messageOf(error));
    if (typeof found !== "string") return found;
    signal.throwIfAborted();
    if (found !== reported)
      log.warn(`Waiting for Node ${name}: ${found}. Volumes are not served until then.`);
    reported = found;
    await sleep(platform.clock, interval, signal);
  }
}

/** Runs until it is stopped. Returns whether it was stopped as requested. */
export async function runNode(invocation: CsiProcess, log: Log): Promise<boolean> {
  const { platform, signal, configuration } = invocation;
  const { clock, files } = platform;
  const { flags } = configuration.settings;
  const driver = driverOf(invocation);
  const path = socketPathOf(invocation);
  const { controller: life, unlink } = linkedController(signal);
  try {
    const identity = await readIdentity(invocation, driver, log, life.signal);
    log.info(`This machine is ${identity.id}`, { ...identity.topology });
    const serving = serveCsi(invocation, log, { path, signal: life.signal }, (server) => {
      const node = nodeService({ driver, identity, disks: systemDisks, files, clock, life: life.signal });
      const about = identityService({ driver, version });
      server.add("csi.v1.Identity", csiSchema, csiServices.Identity, about);
      server.add("csi.v1.Node", csiSchema, csiServices.Node, node);
    });
    const registration = `${flags["plugin-registration-path"]}/${driver.name}-reg.sock`;
    const registering = serveCsi(invocation, log, { path: registration, signal: life.signal }, (server) => {
      addRegistration(server, {
        name: driver.name,
        endpoint: flags["kubelet-registration-path"] ?? path,
        onStatus: (error) => {
          if (error === undefined) return log.info(`The kubelet has registered ${driver.name}`);
          log.error(
            `The kubelet refuses ${driver.name}: ${error}. This process ends; it must be started again.`,
          );
          life.abort(new Error("the kubelet refuses the plugin"));
        },
      });
    });
    await Promise.all([serving, registering]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    life.abort();
    unlink();
  }
  return signal.aborted;
}
