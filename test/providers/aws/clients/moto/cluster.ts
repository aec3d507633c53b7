// A test API server and managers of AWS that reach moto over HTTP, in real time. And what the test asks moto itself.

import { aws } from "../../../../../providers/aws/index.ts";
import type { AnyProvider } from "../../../../../src/app/connect-cloud.ts";
import { readFlags } from "../../../../../src/app/flags/read-flags.ts";
import { createManager, type Manager } from "../../../../../src/app/manager/manager.ts";
import { systemPlatform } from "../../../../../src/app/system-platform.ts";
import { readXml } from "../../../../../src/kit/xml.ts";
import type { Node } from "../../../../../src/kube/objects.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../../src/platform/random.ts";
import { systemTransport } from "../../../../../src/platform/transport.ts";
import { createLog } from "../../../../../src/telemetry/log.ts";
import { ApiServer } from "../../../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../../../src/testing/apiserver/as-transport.ts";
import type { KubeObject } from "../../../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../../../src/testing/apiserver/objects/resource-table.ts";
import { until } from "../../../../cluster/rig/until.ts";
import { toNode } from "../../../../support/api-server-nodes.ts";
import { uninitialized } from "../../../../support/node-controllers.ts";

const stored = resourceNamed("nodes");

/** Starts moto on a free port. */
export async function startMoto(program: string) {
  const child = Bun.spawn([program, "-H", "127.0.0.1", "-p", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  for await (const chunk of child.stderr) {
    text += new TextDecoder().decode(chunk);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
    if (url !== undefined)
      return {
        url,
        async [Symbol.asyncDispose]() {
          child.kill();
          await child.exited;
        },
      };
  }
  throw new Error(`moto did not start:\n${text}`);
}

/** A request of the test to EC2. Returns the members of the response. */
export async function ask(url: string, action: string, parameters: Readonly<Record<string, string>>) {
  const body = new URLSearchParams({ Action: action, Version: "2016-11-15", ...parameters });
  const authorization = "AWS4-HMAC-SHA256 Credential=test/20261127/us-west-2/ec2/aws4_request";
  const response = await fetch(url, { method: "POST", body, headers: { authorization } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${action}: ${response.status} ${text}`);
  // biome-ignore lint/suspicious/noExplicitAny: the test knows what it asked for.
  return readXml(text, ["item"])[`${action}Response`] as any;
}

export class Cluster {
  readonly server = new ApiServer({ clock: systemClock, random: systemRandom });
  /** The actions that managers sent, in order. */
  readonly sent: string[] = [];
  readonly logged: string[] = [];
  #stop = new AbortController();
  #done: Promise<void> = Promise.resolve();

  async start(config: Readonly<Record<string, string>>, ...flags: readonly string[]): Promise<void> {
    this.#stop = new AbortController();
    const settings = readFlags([
      ...Object.entries(config).map(([name, value]) => `--config-set=${name}=${value}`),
      "--master=http://test-api-server",
      "--leader-elect=false",
      "--absence-confirmation=2s",
      "--node-status-update-frequency=1s",
      ...flags,
    ]);
    const log = createLog({
      format: "text",
      verbosity: 0,
      clock: systemClock,
      write: (line) => this.logged.push(line),
    });
    const platform: Parameters<typeof createManager>[0]["platform"] = {
      ...systemPlatform({}),
      transport: asTransport(this.server),
      cloudTransport: (request, signal) => {
        this.sent.push(new URLSearchParams(String(request.body)).get("Action") ?? request.url);
        return systemTransport(request, signal);
      },
    };
    const manager: Manager = await createManager(
      { provider: aws as unknown as AnyProvider, settings, platform, log },
      this.#stop.signal,
    );
    this.#done = manager.run();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("The scenario stops it."));
    await this.#done;
  }

  until<T>(what: string, probe: Parameters<typeof until<T>>[1]): Promise<T> {
    return until(what, probe, { everyMs: 50, explain: () => this.logged.slice(-20).join("\n") });
  }

  joinNode(name: string, podCIDR: string): void {
    const spec = { taints: [uninitialized], podCIDR, podCIDRs: [podCIDR] };
    this.#put(toNode({ name, uid: `uid-${name}`, spec }, systemClock.now()));
  }

  /** Its kubelet reports nothing more. */
  loseNode(name: string): void {
    const node = this.node(name);
    if (node === undefined) throw new Error(`There is no Node ${name}.`);
    const conditions = [{ type: "Ready", status: "Unknown" }];
    this.#put({ ...node, status: { ...node.status, conditions } } as Node);
  }

  node(name: string): Node | undefined {
    return this.server.store.get("nodes", undefined, name) as unknown as Node | undefined;
  }

  count(action: string): number {
    return this.sent.filter((one) => one === action).length;
  }

  #put(node: Node): void {
    this.server.store.put(stored, node as unknown as KubeObject);
  }
}
