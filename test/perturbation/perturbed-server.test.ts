// The perturbed server over HTTP, as a manager in another process sees it.

import { afterEach, expect, test } from "bun:test";
import { LineDecoder } from "../../src/kube/watch/line-decoder.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { until } from "../cluster/rig/until.ts";
import { PerturbedServer } from "./perturbed-server.ts";
import { type ServedTransport, serveTransport } from "./serve-transport.ts";

const nodes = resourceNamed("nodes");

class Rig implements AsyncDisposable {
  readonly api = new ApiServer({ clock: systemClock, random: seededRandom(1) });
  readonly server = new PerturbedServer(asTransport(this.api));
  readonly served: ServedTransport = serveTransport(this.server.transport, "http://test-api-server");
  readonly #end = new AbortController();

  /** The lines of a Node watch, such as `ADDED a`. */
  async *watch(query: string): AsyncGenerator<string> {
    const url = `${this.served.url}/api/v1/nodes?watch=true&allowWatchBookmarks=true&${query}`;
    const headers = { accept: "application/vnd.kubernetes.protobuf, application/json" };
    const { body } = await fetch(url, { headers, signal: this.#end.signal });
    const decoder = new LineDecoder();
    for await (const chunk of body ?? [])
      for (const line of decoder.push(chunk)) {
        const { type, object } = JSON.parse(line);
        yield `${type} ${object.metadata.name ?? object.code ?? ""}`.trim();
      }
  }

  async list(query: string): Promise<readonly string[]> {
    const response = await fetch(`${this.served.url}/api/v1/nodes?${query}`);
    const { items } = (await response.json()) as {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    return items.map(({ metadata }) => metadata.name);
  }

  add(name: string): void {
    this.api.objects.create(nodes, "", { metadata: { name } });
  }

  remove(name: string): void {
    this.api.objects.delete(nodes, "", name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.served[Symbol.asyncDispose]();
  }
}

let rig: Rig;
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

const isHeld = (): Promise<unknown> =>
  until("the change that is held", () => rig.server.isHolding, { everyMs: 1 });

const streaming = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

const next = async (lines: AsyncGenerator<string>): Promise<unknown> => (await lines.next()).value;

test("the perturbed API server shows everything when nothing is perturbed", async () => {
  rig = new Rig();
  rig.add("a");
  const lines = rig.watch(streaming);
  expect([await next(lines), await next(lines)]).toEqual(["ADDED a", "BOOKMARK"]);
  rig.remove("a");
  expect(await next(lines)).toBe("DELETED a");
  expect(rig.server.changesShown).toEqual(["nodes a: ADDED 1", "nodes a: DELETED 1"]);
});

test("the perturbed API server holds a change and all later changes, ends the watch with 410, and lists the result", async () => {
  rig = new Rig();
  rig.add("a");
  const lines = rig.watch(streaming);
  expect([await next(lines), await next(lines)]).toEqual(["ADDED a", "BOOKMARK"]);
  rig.server.holdFrom("nodes a: DELETED 1");
  const held = next(lines);
  rig.remove("a");
  await isHeld();
  rig.add("a");
  // A list that begins while the gate is closed waits too.
  const listed = rig.list("");
  rig.server.release();
  expect(await held).toBe("ERROR 410");
  expect((await lines.next()).done).toBe(true);
  expect(await listed).toEqual(["a"]);
  expect(rig.server.changesShown).toEqual(["nodes a: ADDED 1", "nodes a: ADDED 2"]);
});

test("without streaming lists, the perturbed API server lists an old state until it has caught up", async () => {
  rig = new Rig();
  const before = rig.watch(streaming);
  expect(await next(before)).toBe("BOOKMARK");
  rig.add("a");
  rig.add("b");
  expect([await next(before), await next(before)]).toEqual(["ADDED a", "ADDED b"]);
  rig.server.hasStreamingLists = false;
  expect(rig.server.lagBefore("nodes c: ADDED 1")).toBe(false);
  expect(rig.server.lagBefore("nodes b: ADDED 1")).toBe(true);
  const refused = await fetch(`${rig.served.url}/api/v1/nodes?watch=true&${streaming}`);
  expect(refused.status).toBe(422);
  expect(await rig.list("resourceVersion=0")).toEqual(["a"]);
  expect(await rig.list("")).toEqual(["a", "b"]);
  const { metadata } = (await (await fetch(`${rig.served.url}/api/v1/nodes?resourceVersion=0`)).json()) as {
    readonly metadata: { readonly resourceVersion: string };
  };
  const after = next(rig.watch(`resourceVersion=${metadata.resourceVersion}`));
  rig.server.catchUp();
  expect(await after).toBe("ADDED b");
});

test("the perturbed API server delays a streaming list until the old cache has caught up", async () => {
  rig = new Rig();
  const before = rig.watch(streaming);
  expect(await next(before)).toBe("BOOKMARK");
  rig.add("a");
  expect(await next(before)).toBe("ADDED a");
  expect(rig.server.lagBefore("nodes a: ADDED 1")).toBe(true);
  let isAnswered = false;
  const first = next(rig.watch(streaming)).finally(() => {
    isAnswered = true;
  });
  expect(await rig.list("")).toEqual(["a"]);
  expect(isAnswered).toBe(false);
  rig.server.catchUp();
  expect(await first).toBe("ADDED a");
});

test("the perturbed API server accepts writes while it holds changes", async () => {
  rig = new Rig();
  rig.add("a");
  const lines = rig.watch(streaming);
  expect([await next(lines), await next(lines)]).toEqual(["ADDED a", "BOOKMARK"]);
  rig.server.holdFrom("nodes a: MODIFIED 1");
  const held = next(lines);
  const response = await fetch(`${rig.served.url}/api/v1/nodes/a`, {
    method: "PATCH",
    headers: { "content-type": "application/merge-patch+json" },
    body: JSON.stringify({ metadata: { labels: { x: "y" } } }),
  });
  expect(response.status).toBe(200);
  await isHeld();
  const read = await fetch(`${rig.served.url}/api/v1/nodes/a`);
  expect(await read.json()).toMatchObject({ metadata: { labels: { x: "y" } } });
  rig.server.release();
  expect(await held).toBe("ERROR 410");
});
