// The sandbox of the demo, on loopback: a test API server with simulated kubelets, a simulated cloud, and the real manager
// connected to both. `demo-steps.ts` changes it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fake } from "../../providers/fake/index.ts";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import type { AnyProvider } from "../../src/app/connect-cloud.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { createManager, type Manager } from "../../src/app/manager/manager.ts";
import { systemPlatform } from "../../src/app/system-platform.ts";
import { type Milliseconds, seconds } from "../../src/core/brand.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import type { Log } from "../../src/telemetry/log.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { Kubelets } from "../../src/testing/apiserver/kubelet/kubelets.ts";
import { HttpsServer, saveKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";

export interface SandboxOptions {
  readonly nodes: number;
  readonly cloudLatency: Milliseconds;
  readonly faults: boolean;
  readonly port: number;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface Sandbox {
  readonly server: ApiServer;
  readonly cloud: FakeCloud;
  readonly kubelets: Kubelets;
  readonly manager: Manager;
  readonly kubeconfig: string;
  /** Resolves once everything has stopped after the signal aborted. */
  readonly ended: Promise<void>;
}

export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { nodes, cloudLatency, faults, port, log, signal } = options;
  const platform = systemPlatform();
  const { clock, random, files } = platform;

  const cloud = new FakeCloud({ clock, latency: cloudLatency, token: "fake" });
  for (let index = 1; index <= nodes; index += 1) cloud.machines.add(`node-${index}`);
  if (faults) {
    cloud.faults.add({ kind: "status", status: 500, after: 1, calls: 1 });
    cloud.faults.add({ kind: "status", status: 429, after: 3, calls: 1 });
    cloud.faults.add({ kind: "reset", after: 5, calls: 1 });
  }
  const served = serveFakeCloud(cloud, 0);

  const server = new ApiServer({ clock, random });
  const https = await HttpsServer.start({
    server,
    authority: createAuthority("fairlead sandbox", clock, random),
    port,
    token: random.uuid(),
  });
  const folder = mkdtempSync(join(tmpdir(), "fairlead-"));
  // It holds credentials, so it is removed however the process exits.
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", removeFolder);
  const kubeconfig = join(folder, "kubeconfig");
  await saveKubeconfig(https, files, kubeconfig);

  const kubelets = new Kubelets({
    server,
    clock,
    random,
    isMachineUp: (name) => cloud.machines.find(name).some(({ status }) => status === "running"),
    // Shorter than in a cluster, so that a missing machine is detected within seconds.
    timing: { readyAfter: seconds(1), graceAfter: seconds(6), leaseEvery: seconds(2) },
  });
  for (let index = 1; index <= nodes; index += 1) {
    const podCIDRs = [`10.${128 + (index >> 8)}.${index & 255}.0/24`];
    kubelets.join({ name: `node-${index}`, podCIDRs });
  }

  const settings = readFlags([
    `--kubeconfig=${kubeconfig}`,
    // Shorter than in a cluster, so that each step takes seconds.
    "--node-deletion-confirmation=5s",
    "--node-status-update-frequency=10s",
    "--cluster-cidr=10.128.0.0/9",
    `--config-set=endpoint=${served.url}`,
  ]);
  // The contract keeps each provider's own types; the framework only hands its values back to it.
  const provider = fake as unknown as AnyProvider;
  const manager = await createManager({ provider, settings, platform, log }, signal);
  const ended = manager.run().finally(async () => {
    kubelets.stop();
    await Promise.all([https.stop(), served[Symbol.asyncDispose]()]);
    removeFolder();
  });
  return { server, cloud, kubelets, manager, kubeconfig, ended };
}
