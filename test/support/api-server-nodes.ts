// Nodes in a test API server, as controllers see them: a store that follows every write, and writes through the real client.
// Tests use it to change Nodes as kubelets and users do.

import { createNodeWrites } from "../../src/controllers/kernel/node-writes.ts";
import { LatestObjects } from "../../src/controllers/latest-objects.ts";
import type { NodeStore, NodeWrites } from "../../src/controllers/node-deps.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { defined } from "../../src/core/defined.ts";
import type { KubeApi } from "../../src/kube/client/api.ts";
import { HttpKubeApi } from "../../src/kube/client/http-api.ts";
import type { Node } from "../../src/kube/objects.ts";
import { RequestLimit } from "../../src/kube/requests/request-limit.ts";
import { Requests } from "../../src/kube/requests/requests.ts";
import { WriteConcurrency } from "../../src/kube/requests/write-concurrency.ts";
import { nodes as nodesResource } from "../../src/kube/resources.ts";
import { Store } from "../../src/kube/watch/store.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Random } from "../../src/platform/random.ts";
import { Journal } from "../../src/runtime/journal.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";

const stored = resourceNamed("nodes");

/** The fields that a test sets; all others have defaults. */
export interface NodeDraft {
  readonly name: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly createdAt?: number;
  readonly deletionTimestamp?: string;
  readonly spec?: Node["spec"];
  readonly status?: Node["status"];
}

export const toNode = (draft: NodeDraft, now = 0): Node => ({
  metadata: defined({
    name: draft.name,
    uid: draft.uid ?? `uid-${draft.name}`,
    resourceVersion: "1",
    creationTimestamp: `${new Date(draft.createdAt ?? now).toISOString().slice(0, 19)}Z`,
    deletionTimestamp: draft.deletionTimestamp,
    labels: draft.labels,
    annotations: draft.annotations,
  }),
  spec: draft.spec ?? {},
  status: draft.status ?? {},
});

export interface ApiServerNodesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly mode?: "enforce" | "observe";
  /** Milliseconds that the store lags behind the server; 0 by default. */
  readonly lag?: number;
}

export class ApiServerNodes {
  readonly server: ApiServer;
  readonly api: KubeApi;
  readonly journal = new Journal();
  readonly store: NodeStore;
  readonly writes: NodeWrites;
  /** Every write that reached the server, in order: method and path. */
  readonly sent: string[] = [];
  readonly #clock: Clock;
  #isListing = false;

  constructor({ clock, random, mode = "enforce", lag = 0 }: ApiServerNodesOptions) {
    this.#clock = clock;
    this.server = new ApiServer({ clock, random });
    const connection = {
      server: "https://test-api-server",
      origin: "https://test-api-server",
      proxy: undefined,
      namespace: undefined,
      access: async () => ({ headers: {}, tls: undefined }),
      refresh: () => undefined,
      explainRefusal: () => undefined,
    };
    const transport = asTransport(this.server);
    const requests = new Requests({
      connection,
      transport: (request, signal) => {
        if (request.method !== "GET") this.sent.push(`${request.method} ${new URL(request.url).pathname}`);
        return transport(request, signal);
      },
      clock,
      requestLimit: new RequestLimit(),
      writes: new WriteConcurrency(clock),
    });
    this.api = new HttpKubeApi(requests, { userAgent: "test" });
    const latest = new LatestObjects(this.#follow(lag));
    this.store = latest;
    this.writes = createNodeWrites({
      api: this.api,
      journal: this.journal,
      clock,
      mode,
      remember: (node) => latest.remember(node),
    });
  }

  get(name: string): Node | undefined {
    const object = this.server.store.get("nodes", undefined, name);
    return object === undefined ? undefined : nodesResource.slim(object as unknown as Node);
  }

  /** Like `get`, but throws if the Node does not exist. */
  node(name: string): Node {
    const node = this.get(name);
    if (node === undefined) throw new Error(`Node ${name} does not exist.`);
    return node;
  }

  names(): readonly string[] {
    return this.server.store.list("nodes").map(({ metadata }) => metadata.name);
  }

  add(draft: NodeDraft): Node {
    this.server.store.put(stored, toNode(draft, this.#clock.now()) as unknown as KubeObject);
    return this.node(draft.name);
  }

  /** Changes a Node as a kubelet or an operator would, under a new resource version. */
  change(name: string, change: (node: Node) => Node): void {
    this.server.store.put(stored, change(this.node(name)) as unknown as KubeObject);
  }

  setReady(name: string, status: "True" | "False" | "Unknown"): void {
    this.change(name, (node) => ({
      ...node,
      status: { ...node.status, conditions: [{ type: "Ready", status }] },
    }));
  }

  annotate(name: string, annotations: Readonly<Record<string, string>>): void {
    this.change(name, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations } }));
  }

  remove(name: string): void {
    this.server.store.remove(stored, this.node(name) as unknown as KubeObject);
  }

  /** Removes Nodes as a restored etcd does: they are absent from the next list, without an event. */
  vanish(...names: readonly string[]): void {
    this.listed(() => {
      for (const name of names) this.remove(name);
    });
  }

  /** Runs `work` and lets the store learn its changes only from new lists, as after an interrupted watch. */
  listed(work: () => void): void {
    this.#isListing = true;
    work();
    this.#isListing = false;
  }

  /** The writes to one Node that reached the server. */
  sentTo(name: string): readonly string[] {
    return this.sent.filter((line) => line.endsWith(`/nodes/${name}`) || line.includes(`/nodes/${name}/`));
  }

  #follow(lag: number): Store<Node> {
    const store = new Store<Node>();
    const list = (): void => {
      const listed = this.names().map((name) => this.node(name));
      store.apply({ type: "begin" });
      for (const object of listed) store.apply({ type: "object", object, initial: true });
      store.apply({ type: "complete", resourceVersion: "1" });
    };
    this.server.onWrite(({ storage, type, object: raw }) => {
      if (storage !== "nodes") return;
      const object = nodesResource.slim(raw as unknown as Node);
      const isListing = this.#isListing;
      const apply = (): void => {
        if (isListing) list();
        else if (type === "DELETED") store.apply({ type: "deleted", object });
        else store.apply({ type: "object", object, initial: false });
      };
      if (lag === 0) apply();
      else this.#clock.after(milliseconds(lag), apply);
    });
    return store;
  }
}
