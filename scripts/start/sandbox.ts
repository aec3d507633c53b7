// The sandbox of the demo, on loopback: a test API server with simulated kubelets, a simulated cloud, and the real manager
// connected to both. `demo-steps.ts` changes it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { createManager, type Manager } from "../../src/app/manager/manager.ts";
import { systemPlatform } from "../../src/app/system-platform.ts";
import { type Milliseconds, milliseconds, seconds } from "../../src/core/brand.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { type Environment, systemEnvironment } from "../../src/platform/environment.ts";
import { programOf } from "../../src/provider/program.ts";
import type { VolumeDriver } from "../../src/provider/volumes.ts";
import type { Log } from "../../src/telemetry/log.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { Kubelets } from "../../src/testing/apiserver/kubelet/kubelets.ts";
import { HttpsServer, saveKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { type LocalCloud, type LocalCloudDefinition, variablesOf } from "../clouds/local-cloud.ts";
import { serveStatus } from "./status-server.ts";

export interface SandboxOptions {
  readonly definition: LocalCloudDefinition;
  readonly nodes: number;
  readonly cloudLatency: Milliseconds;
  readonly faults: boolean;
  readonly port: number;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface Sandbox {
  readonly server: ApiServer;
  readonly cloud: LocalCloud;
  readonly kubelets: Kubelets;
  readonly manager: Manager;
  /** The variables that a command in another terminal needs: KUBECONFIG, and the cloud settings. */
  readonly variables: Readonly<Record<string, string>>;
  /** The path of a shell script that exports the variables. The script is removed at the end, as is the kubeconfig. */
  readonly variablesFile: string;
  /** Undefined for a cloud without volumes. */
  readonly driver: VolumeDriver | undefined;
  /** The page that shows the manager's state. */
  readonly statusURL: string;
  /** The folder, which is removed at the end. */
  readonly folder: string;
  /** Resolves once everything has stopped after the signal aborted. */
  readonly ended: Promise<void>;
}

/** Removes the provider's environment variables, because they are meant for a real cloud. */
function isolated(environment: Environment, { config }: LocalCloudDefinition["provider"]): Environment {
  const variables = new Set(Object.values(config).map(({ env }) => env));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !variables.has(name)));
}

export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { definition, nodes, cloudLatency, faults, port, log, signal } = options;
  const { provider } = definition;
  const platform = systemPlatform(isolated(systemEnvironment(), provider));
  const { clock, random, files } = platform;

  const cloud = definition.open({
    clock,
    port: 0,
    latency: cloudLatency,
    // Shorter than in a real cloud, so that each step takes seconds.
    actionTime: milliseconds(300),
    requestsPerHour: definition.defaultRequestsPerHour ?? 0,
    token: definition.exampleToken,
  });
  for (let index = 1; index <= nodes; index += 1) cloud.addMachine(`node-${index}`);
  if (faults) {
    cloud.addFault({ status: 500, after: 1 });
    cloud.addFault({ status: 429, after: 3 });
    cloud.addFault({ after: 5 });
  }

  const server = new ApiServer({ clock, random });
  const https = await HttpsServer.start({
    server,
    authority: createAuthority("fairlead sandbox", clock, random),
    port,
    token: random.uuid(),
  });
  const folder = mkdtempSync(join(tmpdir(), "fairlead-"));
  // The folder contains credentials, so it is removed however the process exits.
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", removeFolder);
  const kubeconfig = join(folder, "kubeconfig");
  await saveKubeconfig(https, files, kubeconfig);

  const kubelets = new Kubelets({
    server,
    clock,
    random,
    isMachineUp: (name) => cloud.machineState(name) === "running",
    // Shorter than in a cluster, so that a missing machine is detected within seconds.
    timing: { readyAfter: seconds(1), graceAfter: seconds(6), leaseEvery: seconds(2) },
  });
  for (let index = 1; index <= nodes; index += 1) {
    const podCIDRs = [`10.${128 + (index >> 8)}.${index & 255}.0/24`];
    const name = `node-${index}`;
    kubelets.join({ name, podCIDRs, systemUUID: cloud.systemUUID?.(name) });
  }

  const variables = { KUBECONFIG: kubeconfig, ...variablesOf(definition, cloud) };
  const variablesFile = join(folder, "variables");
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${value}\n`);
  await files.write(variablesFile, exports.join(""), 0o600);

  const settings = readFlags([
    `--kubeconfig=${kubeconfig}`,
    // Shorter than in a cluster, so that each step takes seconds.
    "--absence-confirmation=5s",
    "--node-status-update-frequency=10s",
    ...(provider.volumeDriver === undefined ? [] : ["--controllers=*,volume"]),
    ...(cloud.routeCount === undefined ? [] : ["--cluster-cidr=10.128.0.0/9"]),
    ...Object.entries({ ...cloud.settings, ...definition.demoSettings }).map(
      ([name, value]) => `--config-set=${name}=${value}`,
    ),
  ]);
  const manager = await createManager({ provider, settings, platform, log }, signal);
  const status = serveStatus(manager, programOf(provider), clock);
  const ended = manager.run().finally(async () => {
    kubelets.stop();
    await Promise.all([https.stop(), cloud[Symbol.asyncDispose](), status[Symbol.asyncDispose]()]);
    removeFolder();
  });
  const driver = provider.volumeDriver;
  const statusURL = status.url;
  return { server, cloud, kubelets, manager, variables, variablesFile, driver, statusURL, folder, ended };
}
