// The executable with a test API server and a simulated cloud on loopback, with its secure port open: for tools that read its pages.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../../providers/fake/simulator/http.ts";
import { createAuthority } from "../../../src/pki/authority.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { ApiServer, type ApiServerOptions } from "../../../src/testing/apiserver/api-server.ts";
import type { JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { HttpsServer } from "../../../src/testing/apiserver/serving/https-server.ts";
import { freePort } from "../../cluster/rig/free-port.ts";
import { type KeptProcess, keepFolder, startProcess } from "../../cluster/rig/kept-process.ts";
import { until } from "../../cluster/rig/until.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";
import { builtExecutable } from "./executable.ts";

const nodes = resourceNamed("nodes");
const services = resourceNamed("services");
const readable = ["/status", "/debug/state", "/metrics", "/metrics/slis"];

export interface Replica {
  readonly process: KeptProcess;
  readonly port: number;
  readonly url: string;
}

export class LocalWorld {
  readonly server: ApiServer;
  readonly cloud: FakeCloud;
  readonly folder: string;
  readonly kubeconfig: string;
  /** The token of a user who may read the pages that `fairlead-state` of docs/endpoints.md and `fairlead-metrics` grant, and nothing else. */
  readonly token: string;
  readonly #https: HttpsServer;
  #served: ReturnType<typeof serveFakeCloud>;
  readonly #replicas: Replica[] = [];

  private constructor(server: ApiServer, https: HttpsServer, folder: string, token: string) {
    this.server = server;
    this.#https = https;
    this.folder = folder;
    this.token = token;
    this.cloud = new FakeCloud({ clock: systemClock });
    this.#served = serveFakeCloud(this.cloud, 0);
    this.kubeconfig = join(folder, "kubeconfig");
    writeFileSync(this.kubeconfig, https.kubeconfig, { mode: 0o600 });
  }

  static async open(): Promise<LocalWorld> {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-tools-"));
    keepFolder(folder);
    const token = crypto.randomUUID();
    const options: ApiServerOptions = {
      tokens: { [token]: { username: "viewer", groups: ["system:authenticated"] } },
      authorize: ({ username, groups }, { path }) =>
        groups.includes("system:masters") || (username === "viewer" && readable.includes(path)),
    };
    const server = new ApiServer({ clock: systemClock, random: systemRandom, options });
    const authority = createAuthority("tools-ca", systemClock, systemRandom);
    const https = await HttpsServer.start({ server, authority, token: crypto.randomUUID() });
    return new LocalWorld(server, https, folder, token);
  }

  start(...flags: readonly string[]): Promise<Replica> {
    return this.startOn(freePort(), ...flags);
  }

  /** Starts the executable on this port and waits until it answers. */
  async startOn(port: number, ...flags: readonly string[]): Promise<Replica> {
    const process = startProcess(
      [
        builtExecutable("fake"),
        `--kubeconfig=${this.kubeconfig}`,
        `--config-set=endpoint=${this.#served.url}`,
        "--bind-address=127.0.0.1",
        `--secure-port=${port}`,
        ...flags,
      ],
      { cwd: this.folder },
    );
    const replica = { process, port, url: `https://127.0.0.1:${port}` };
    this.#replicas.push(replica);
    await until("the secure port", async () => (await this.read(replica, "/livez")).ok, {
      explain: () => process.output().slice(-3000),
    });
    return replica;
  }

  read({ url }: Replica, path: string): Promise<Response> {
    return fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${this.token}` },
      keepalive: false,
      tls: { rejectUnauthorized: false },
    });
  }

  /** A ready Node with a machine. */
  addNode(name: string, draft: Partial<NodeDraft> = {}): void {
    const { id } = this.cloud.machines.add(name);
    this.putNode({
      name,
      spec: { providerID: `fake://${id}` },
      status: { conditions: [{ type: "Ready", status: "True" }] },
      ...draft,
    });
  }

  putNode(draft: NodeDraft): void {
    this.server.store.put(nodes, toNode(draft) as unknown as KubeObject);
  }

  /** Writes the condition that a stopped kubelet, or the cluster, would write. */
  setReady(name: string, status: "True" | "Unknown"): void {
    const node = this.server.store.get("nodes", undefined, name);
    if (node === undefined) throw new Error(`There is no Node ${name}.`);
    const conditions = [{ type: "Ready", status }];
    this.server.store.put(nodes, { ...node, status: { conditions } } as unknown as KubeObject);
  }

  deleteService(name: string): void {
    this.server.objects.delete(services, "default", name);
  }

  addService(name: string, annotations: Readonly<Record<string, string>> = {}): void {
    this.server.objects.create(services, "default", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "default", annotations },
      spec: {
        type: "LoadBalancer",
        selector: { app: name },
        ports: [{ name: "http", port: 80, protocol: "TCP" }],
      },
    } as JsonObject);
  }

  async stopCloud(): Promise<void> {
    await this.#served[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#replicas.map(({ process }) => process.stop()));
    await this.stopCloud();
    await this.#https.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
