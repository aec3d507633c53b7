// The environment of the hardening tests: a test API server and a simulated cloud on loopback, Nodes that join, and the
// executable under a command that restricts it.

import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { nodes } from "../../src/kube/resources.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { HttpsServer } from "../../src/testing/apiserver/serving/https-server.ts";
import { inParallel } from "../cluster/rig/in-parallel.ts";
import { type KeptProcess, keepFolder, startProcess } from "../cluster/rig/kept-process.ts";
import { kubeletNode } from "../cluster/rig/kubelet-objects.ts";
import { until } from "../cluster/rig/until.ts";
import { OfficialClient } from "../support/official-client.ts";

export const executable = resolve(import.meta.dir, "../../dist/fake-cloud-controller-manager");

const isTainted = (node: { spec: { taints?: readonly { key: string }[] } }): boolean =>
  (node.spec.taints ?? []).some(({ key }) => key === "node.cloudprovider.kubernetes.io/uninitialized");

export interface WorldOptions {
  readonly certificatesAsOf?: Clock;
  /** An executable other than the one in dist. */
  readonly file?: string;
  /** The content of an administrator's kubeconfig, for a real API server instead of the test API server. */
  readonly kubeconfig?: string;
}

export const openWorld = async (options: WorldOptions = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-hardening-"));
  keepFolder(folder);
  const authority = createAuthority("hardening-ca", options.certificatesAsOf ?? systemClock, systemRandom);
  const server = new ApiServer({ clock: systemClock, random: systemRandom });
  const https = await HttpsServer.start({ server, authority, token: crypto.randomUUID() });
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, options.kubeconfig ?? https.kubeconfig, { mode: 0o644 });
  const cloud = new FakeCloud({ clock: systemClock });
  const served = serveFakeCloud(cloud, 0);
  // Readable and executable for every user.
  const copy = join(folder, "fake-cloud-controller-manager");
  copyFileSync(options.file ?? executable, copy);
  Bun.spawnSync(["chmod", "-R", "a+rX", folder]);
  const running: KeptProcess[] = [];

  return {
    folder,
    kubeconfig,
    endpoint: served.url,
    server,
    cloud,
    executable: copy,
    flags: [
      `--kubeconfig=${kubeconfig}`,
      `--config-set=endpoint=${served.url}`,
      "--leader-elect=false",
      "--secure-port=0",
    ],
    start(prefix: readonly string[], env: Readonly<Record<string, string>> = {}): KeptProcess {
      const process = startProcess([...prefix, copy, ...this.flags], { cwd: folder, env });
      running.push(process);
      return process;
    },
    async join(count: number): Promise<void> {
      const api = OfficialClient.open(kubeconfig);
      const names = Array.from({ length: count }, (_, index) => `node-${index}`);
      for (const name of names) cloud.machines.add(name);
      await inParallel(names, 32, (name) => api.create(nodes, kubeletNode(name)));
    },
    async initialized(process: KeptProcess, count: number): Promise<void> {
      await this.areInitialized(
        count,
        () => process.output().slice(-3000),
        () => {
          if (process.exitCode() !== null) throw new Error(`The manager exited with ${process.exitCode()}.`);
        },
      );
    },
    async areInitialized(count: number, explain: () => string, check = (): void => {}): Promise<void> {
      const api = OfficialClient.open(kubeconfig);
      await until(
        `${count} Nodes to be initialized`,
        async () => {
          check();
          const items = await api.list(nodes);
          return items.length === count && !items.some(isTainted);
        },
        // Listing thousands of Nodes takes processor time that the manager needs.
        { seconds: 60, everyMs: Math.max(100, count / 2), explain },
      );
    },
    async [Symbol.asyncDispose](): Promise<void> {
      for (const process of running) await process.stop();
      await served[Symbol.asyncDispose]();
      await https.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
