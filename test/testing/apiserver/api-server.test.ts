// Behavior that only the test API server can show: compacted histories, slow clients, faults, and older server versions, in virtual time.
// Behavior that it shares with real servers is tested in cases/.

import { describe, expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { ApiServer, type ApiServerOptions } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import { textAt, valueAt } from "../../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import type { StoredChange } from "../../../src/testing/apiserver/storage/object-store.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { call, type Target, watchLines } from "./cases/target.ts";

const nodes = resourceNamed("nodes");

const start = (options: ApiServerOptions = {}) => {
  const clock = new VirtualClock();
  const server = new ApiServer({ clock, random: seededRandom(1), options });
  const target: Target = {
    baseURL: "http://test-api-server",
    transport: asTransport(server),
    headers: {},
    unique: (name) => name,
  };
  const addNode = (name: string) => server.objects.create(nodes, "", { metadata: { name } });
  const label = (name: string, value: string) =>
    server.objects.patch(nodes, "", name, "", (node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { value } },
    }));
  return { clock, server, target, addNode, label };
};

const never = () => new AbortController().signal;
const watchURL = "http://test-api-server/api/v1/nodes?watch=1";

describe("the history of the test API server", () => {
  test("answers a watch from a compacted version with an ERROR event", async () => {
    const { server, target, addNode } = start();
    addNode("a");
    server.compact();
    const lines = await watchLines(target, "/api/v1/nodes?watch=1&resourceVersion=1", 2);
    expect(lines).toMatchObject([
      { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } },
    ]);
  });

  test("answers a watch from a compacted version with status 410 when goneAs is status", async () => {
    const { server, target, addNode } = start();
    server.watchSettings.goneAs = "status";
    addNode("a");
    server.compact();
    const { code } = await call(target, "GET", "/api/v1/nodes?watch=1&resourceVersion=1");
    expect(code).toBe(410);
  });

  test("drops only the oldest changes beyond historyLimit", async () => {
    const { server, target, addNode, label } = start({ historyLimit: 10 });
    const first = addNode("a").metadata.resourceVersion;
    for (let count = 0; count < 30; count++) label("a", `v${count}`);
    const recent = server.store.revision - 5;
    expect(await watchLines(target, `/api/v1/nodes?watch=1&resourceVersion=${recent}`, 5)).toHaveLength(5);
    const [line] = await watchLines(target, `/api/v1/nodes?watch=1&resourceVersion=${first}`, 1);
    expect(line?.type).toBe("ERROR");
  });

  test("expires a continue token after five minutes", async () => {
    const { clock, target, addNode } = start();
    for (const name of ["a", "b", "c"]) addNode(name);
    const first = await call(target, "GET", "/api/v1/nodes?limit=1");
    const token = textAt(first.body, "metadata", "continue");
    await clock.advance(minutes(6));
    expect((await call(target, "GET", `/api/v1/nodes?limit=1&continue=${token}`)).code).toBe(410);
  });

  test("answers a future version with a timeout after three seconds", async () => {
    const { clock, target } = start();
    let code = 0;
    const waiting = call(target, "GET", "/api/v1/nodes?resourceVersion=99999").then((answer) => {
      code = answer.code;
    });
    await clock.advance(seconds(2));
    expect(code).toBe(0);
    await clock.advance(seconds(2));
    await waiting;
    expect(code).toBe(504);
  });
});

describe("a watch", () => {
  test("a watch sends a bookmark every 30 to 60 seconds", async () => {
    const { clock, server } = start();
    const response = await asTransport(server)(
      { method: "GET", url: `${watchURL}&allowWatchBookmarks=true` },
      never(),
    );
    const reader = response.body?.getReader();
    const reading = reader?.read();
    await clock.advance(seconds(61));
    const text = new TextDecoder().decode((await reading)?.value);
    expect(JSON.parse(text)).toMatchObject({
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: String(server.store.revision) } },
    });
    await reader?.cancel();
    expect(clock.pending).toBe(0);
  });

  test("a watch ends after timeoutSeconds", async () => {
    const { clock, server } = start();
    const response = await asTransport(server)(
      { method: "GET", url: `${watchURL}&timeoutSeconds=5` },
      never(),
    );
    const text = response.text();
    await clock.advance(seconds(5));
    expect(await text).toBe("");
    expect(clock.pending).toBe(0);
  });

  test("a watch is closed when the client does not read, and still delivers the lines that were sent", async () => {
    const { server, addNode, label } = start();
    server.watchSettings.waitingLimit = 50;
    addNode("a");
    const response = await asTransport(server)({ method: "GET", url: watchURL }, never());
    for (let count = 0; count < 2000; count++) label("a", `v${count}`);
    const lines = (await response.text()).trim().split("\n");
    expect(lines.length).toBeLessThan(1000);
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  });

  test("a watch rejects its reader when the signal aborts, and leaves no timer", async () => {
    const { clock, server } = start();
    const stop = new AbortController();
    const response = await asTransport(server)({ method: "GET", url: watchURL }, stop.signal);
    const reading = response.text();
    stop.abort(new Error("enough"));
    expect(reading).rejects.toThrow("enough");
    await reading.catch(() => {});
    expect(clock.pending).toBe(0);
  });
});

describe("older server versions", () => {
  const streaming =
    "/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

  test("older server versions reject a streaming list as Kubernetes 1.33 does", async () => {
    const { server, target } = start();
    server.watchSettings.streamingLists = "off";
    expect(await call(target, "GET", streaming)).toMatchObject({ code: 422, body: { reason: "Invalid" } });
  });

  test("older server versions ignore sendInitialEvents and send no closing bookmark", async () => {
    const { clock, server, addNode } = start();
    server.watchSettings.streamingLists = "ignored";
    addNode("a");
    const response = await asTransport(server)(
      { method: "GET", url: `http://test-api-server${streaming}&timeoutSeconds=20` },
      never(),
    );
    const text = response.text();
    await clock.advance(seconds(21));
    const lines = (await text)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ type }) => type)).toEqual(["ADDED"]);
  });
});

describe("faults", () => {
  test("faults drop, hang and replace requests, and count all of them", async () => {
    const { server, target } = start();
    server.faults.intercept = ({ method }) => (method === "GET" ? "drop" : "lose-answer");
    expect(call(target, "GET", "/api/v1/nodes")).rejects.toThrow("closed unexpectedly");
    expect(call(target, "POST", "/api/v1/nodes", { metadata: { name: "a" } })).rejects.toThrow(
      "closed unexpectedly",
    );
    await Promise.resolve();
    expect(server.store.get("nodes", "", "a")).toBeDefined();
    server.faults.intercept = () => new Response("{}", { status: 429 });
    expect((await call(target, "GET", "/api/v1/nodes")).code).toBe(429);
    server.faults.intercept = () => "hang";
    const stop = new AbortController();
    const hanging = target.transport(
      { method: "GET", url: "http://test-api-server/api/v1/nodes" },
      stop.signal,
    );
    stop.abort(new Error("waited long enough"));
    expect(hanging).rejects.toThrow("waited long enough");
    expect(Object.fromEntries(server.requests)).toEqual({ "list nodes": 3, "create nodes": 1 });
    await hanging.catch(() => {});
  });

  test("the test API server notifies listeners of each write with the previous object, before the write returns", () => {
    const { server, addNode, label } = start();
    const seen: StoredChange[] = [];
    const stop = server.onWrite((change) => seen.push(change));
    addNode("a");
    label("a", "b");
    label("a", "b");
    server.objects.delete(nodes, "", "a");
    stop();
    addNode("c");
    expect(seen.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    expect(seen[1]?.before).toBe(seen[0]?.object);
    expect(Object.isFrozen(seen[1]?.object.metadata.labels)).toBe(true);
  });

  test("the test API server shares unchanged parts between versions", () => {
    const { server, addNode, label } = start();
    const before = addNode("a");
    label("a", "b");
    const after = server.store.get("nodes", "", "a");
    expect(after?.status).toBe(before.status);
    expect(after?.spec).toBe(before.spec);
  });
});

describe("events", () => {
  test("events are deleted an hour after they were last seen", async () => {
    const { clock, server, target } = start();
    const create = (name: string) =>
      call(target, "POST", "/api/v1/namespaces/default/events", {
        metadata: { name },
        involvedObject: { kind: "Node", name: "a" },
      });
    for (let count = 0; count < 200; count++) await create(`old-${count}`);
    await clock.advance(minutes(61));
    for (let count = 0; count < 100; count++) await create(`new-${count}`);
    expect(server.store.list("events")).toHaveLength(100);
  });
});

describe("identities", () => {
  test("the test API server authorizes with the given function, and rejects with the message of a real server", async () => {
    const { target } = start({ authorize: (_, { verb }) => verb === "get" });
    const { code, body } = await call(target, "GET", "/api/v1/nodes");
    expect(code).toBe(403);
    expect(body["message"]).toBe(
      'nodes is forbidden: User "admin" cannot list resource "nodes" in API group "" at the cluster scope',
    );
  });

  test("the test API server identifies the callers of its tokens, and rejects any other token", async () => {
    const jane = { username: "jane", groups: ["a"] };
    const { target } = start({
      tokens: { "token-of-jane": jane },
      authorize: ({ username }) => username === "jane",
    });
    const listAs = (token: string) =>
      call({ ...target, headers: { authorization: `Bearer ${token}` } }, "GET", "/api/v1/nodes");
    expect((await listAs("token-of-jane")).code).toBe(200);
    expect((await listAs("another")).code).toBe(401);
    const review = await call(target, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
      spec: { token: "token-of-jane" },
    });
    expect(valueAt(review.body, "status", "user", "username")).toBe("jane");
  });
});
