// The process that serves volumes on a Node. It gets its identity from the Node object and needs no cloud credentials.

import { dirname } from "node:path";
import { seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { withoutFullStop } from "../../core/text.ts";
import { nodes } from "../../kube/resources.ts";
import { sleep } from "../../platform/clock.ts";
import { systemFigures } from "../../platform/memory.ts";
import { changeRoot } from "../../platform/process.ts";
import { systemDisks } from "../../platform/system-disks.ts";
import type { VolumeDriver } from "../../provider/volumes.ts";
import { linkedController } from "../../runtime/abortable.ts";
import type { Log } from "../../telemetry/log.ts";
import { volumeNodeOf } from "../../volumes/controller/topology.ts";
import { identityService } from "../../volumes/csi/controller-service.ts";
import { type CSIMachine, type NodeService, nodeService } from "../../volumes/csi/node-service.ts";
import { addRegistration } from "../../volumes/csi/registration.ts";
import { csiSchema, csiServices } from "../../volumes/csi/spec.ts";
import { version } from "../build-info.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { readingApi } from "../operator.ts";
import { driverOf } from "./controller-process.ts";
import { createCsiMetrics } from "./csi-metrics.ts";
import { serveHttp } from "./http-endpoint.ts";
import { type CsiProcess, missingSocket, serveCsi, socketPathOf } from "./serve-csi.ts";

const interval = seconds(2);

/** Waits until the manager has initialized the Node. */
async function readIdentity(
  { platform, program, configuration }: CsiProcess,
  driver: VolumeDriver,
  log: Log,
  signal: AbortSignal,
): Promise<CSIMachine> {
  const { settings } = configuration;
  const { flags } = settings;
  const name =
    flags["node-name"] ?? platform.environment["NODE_NAME"] ?? platform.environment["KUBE_NODE_NAME"];
  if (name === undefined) {
    const text =
      "--node-name is required: the name of this machine's Node. Set it, or the variable NODE_NAME.";
    throw new ConfigurationError([{ severity: "error", reason: "MissingFlag", text }]);
  }
  const userAgent = `${program}/${version} node-volumes`;
  const api = await readingApi({ settings, platform, userAgent, signal });
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

/** Runs until stopped. Returns whether the stop was requested. */
export async function runNode(invocation: CsiProcess, log: Log): Promise<boolean> {
  const { platform, signal, configuration, console } = invocation;
  const { flags } = configuration.settings;
  const driver = driverOf(invocation);
  const path = socketPathOf(invocation);
  const registration = `${flags["plugin-registration-path"]}/${driver.name}-reg.sock`;
  const { controller: life, unlink } = linkedController(signal);
  let waitsFor: string | undefined = "Waiting until the manager has initialized the Node.";
  const { metrics, call: onCall } = createCsiMetrics({
    driver: driver.name,
    figures: systemFigures,
    isReady: () => waitsFor === undefined,
  });
  const sockets: string[] = [];
  const http = await serveHttp(configuration, log, {
    unhealthy: () => missingSocket(invocation, sockets),
    notReady: () => waitsFor,
    metrics: () => metrics.text(),
  });
  let node: NodeService | undefined;
  console.systemd?.ready();
  console.systemd?.status("Waiting for the Node");
  try {
    const identity = await readIdentity(invocation, driver, log, life.signal);
    log.info(`This machine is ${identity.id}`, { ...identity.topology });
    // The API server credentials, which are files in the container, are not needed beyond this point.
    if (flags["host-root"] !== undefined) await changeRoot(flags["host-root"]);
    // The folders do not exist until the kubelet has run for the first time.
    for (const at of [path, registration]) await systemDisks.makeFolder(dirname(at));
    const { clock, files } = platform;
    const warn = (text: string) => log.warn(text);
    const service = nodeService({ driver, identity, disks: systemDisks, files, clock, warn });
    node = service;
    waitsFor = "Waiting until the kubelet registers the plugin.";
    const socketAt = (at: string) => ({
      path: at,
      signal: life.signal,
      onCall,
      onListen: () => void sockets.push(at),
    });
    const serving = serveCsi(invocation, log, socketAt(path), (server) => {
      const about = identityService({ driver, version });
      server.add("csi.v1.Identity", csiSchema, csiServices.Identity, about);
      server.add("csi.v1.Node", csiSchema, csiServices.Node, service.handlers);
    });
    const registering = serveCsi(invocation, log, socketAt(registration), (server) => {
      addRegistration(server, {
        name: driver.name,
        endpoint: flags["kubelet-registration-path"] ?? path,
        onStatus: (error) => {
          if (error === undefined) {
            waitsFor = undefined;
            console.systemd?.status(`Registered with the kubelet as ${driver.name}`);
            return log.info(`The kubelet has registered ${driver.name}`);
          }
          log.error(
            `The kubelet refuses ${driver.name}: ${withoutFullStop(error)}. This process ends; it must be started again.`,
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
    // An interrupted format would leave a disk that is rejected afterwards.
    await node?.idle();
    await http?.close();
  }
  return signal.aborted;
}
