import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { seconds } from "../../../src/core/brand.ts";
import { messageOf } from "../../../src/core/error-message.ts";
import { KubeError, type KubeErrorKind } from "../../../src/kube/errors/kube-error.ts";
import { leases, nodes } from "../../../src/kube/resources.ts";
import { failure, json, scripted, silence } from "../support/scripted.ts";

const never = new AbortController().signal;
const node = { metadata: { name: "a", uid: "u", resourceVersion: "1" }, spec: {}, status: {} };
const key = { name: "a" };
const guard = { contentType: "application/json-patch+json", body: [] } as const;
const merge = { contentType: "application/merge-patch+json", body: {} } as const;

test.each<[number, object, KubeErrorKind]>([
  [404, {}, "not-found"],
  [409, { reason: "AlreadyExists" }, "already-exists"],
  [409, { reason: "Conflict" }, "conflict"],
  [422, { reason: "Invalid", details: {} }, "precondition"],
  [422, { reason: "Invalid", details: { causes: [{ field: "metadata.labels" }] } }, "invalid"],
  [400, {}, "invalid"],
  [403, {}, "forbidden"],
  [410, {}, "gone"],
  [500, {}, "server"],
  [504, {}, "timeout"],
  [418, {}, "unexpected"],
])("a request answered with %i %j fails as %s", async (status, body, kind) => {
  const { api } = scripted(() => json(body, status));
  const error = await failure(api.patch(nodes, key, guard, never));
  expect(error).toBeInstanceOf(KubeError);
  expect(error).toMatchObject({ kind, status, operation: "patch nodes", object: "a", fatal: false });
});

test("points to the command that prints all permissions after a 403", async () => {
  const { api } = scripted(() => json({ message: "nodes is forbidden" }, 403));
  expect(String(await failure(api.get(nodes, key, never)))).toContain(
    "nodes is forbidden. Grant it: apply what the command rbac of this executable prints",
  );
});

test.each([
  [
    "a namespace that is being deleted",
    {
      message: "unable to create new content in namespace shop because it is being terminated",
      details: { causes: [{ reason: "NamespaceTerminating" }] },
    },
  ],
  ["an admission webhook", { message: 'admission webhook "policy.example" denied the request: no' }],
  ["a quota", { message: "events is forbidden: exceeded quota: compute" }],
])("a 403 of %s does not count as a missing permission", async (_, body) => {
  const observed: unknown[] = [];
  const { api } = scripted(() => json(body, 403), { onRequest: (request) => observed.push(request) });
  const error = await failure(api.get(nodes, key, never));
  expect(String(error)).not.toContain("permission");
  expect([error, ...observed]).toEqual([
    expect.objectContaining({ kind: "forbidden", denial: "admission" }),
    expect.objectContaining({ code: "403", denial: "admission" }),
  ]);
});

test("a list and a watch of one object are reported with its key, since permissions may name it", async () => {
  const observed: unknown[] = [];
  const { api } = scripted(() => json({}, 403), { onRequest: (request) => observed.push(request) });
  const fieldSelector = "metadata.name=ccm";
  await failure(api.listPage(leases, { namespace: "kube-system", fieldSelector }, never));
  await failure(api.openWatch(leases, { namespace: "kube-system", query: { fieldSelector } }, never));
  await failure(api.listPage(nodes, {}, never));
  expect(observed).toEqual([
    expect.objectContaining({ verb: "list", object: "kube-system/ccm" }),
    expect.objectContaining({ verb: "watch", object: "kube-system/ccm" }),
    expect.not.objectContaining({ object: expect.anything() }),
  ]);
});

test("a 422 for a patch without guards is invalid rather than a failed precondition, and Retry-After is passed on", async () => {
  const { api } = scripted((request) =>
    request.method === "PATCH" ? json({}, 422) : json({}, 429, { "retry-after": "7" }),
  );
  expect(await failure(api.patch(nodes, key, merge, never))).toMatchObject({ kind: "invalid" });
  expect(await failure(api.get(nodes, key, never))).toMatchObject({ kind: "throttled", retryAfter: 7000 });
});

test.each([
  ["ECONNREFUSED", "unreachable", "Fairlead keeps retrying"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls", "certificate authority"],
  ["CERT_HAS_EXPIRED", "tls", "has expired or is not valid yet"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls", "not valid for this host name"],
])("a request that fails with %s is %s and the error states the remedy", async (code, kind, words) => {
  const { api } = scripted(() => Promise.reject(Object.assign(new Error("x"), { code })));
  const error = await failure(api.get(nodes, key, never));
  expect(error).toMatchObject({ kind });
  expect(messageOf(error)).toContain(words);
});

describe("request deadline", () => {
  test("the deadline ends an unanswered request, and two timeouts in a row open a new connection pool", async () => {
    const { api, clock, seen, requestLimit } = scripted((_, signal) => silence(signal));
    for (const ca of ["CA", "CA", "CA\n"]) {
      const asked = failure(api.get(nodes, key, never));
      await clock.advance(seconds(30));
      expect(await asked).toMatchObject({ kind: "timeout" });
      expect(seen.at(-1)?.tls?.ca).toBe(ca);
    }
    expect([requestLimit.inFlight, clock.pending]).toEqual([0, 0]);
  });

  test("ignores a response after the deadline, and does not count it as an answer", async () => {
    const late = Promise.withResolvers<Response>();
    const decoded: number[] = [];
    const { api, clock } = scripted(() => late.promise, { onDecoded: (bytes) => decoded.push(bytes) });
    let isAnswered = false;
    void api.whenAnswered(never).then(() => {
      isAnswered = true;
    });
    const asked = failure(api.get(nodes, key, never));
    await clock.advance(seconds(30));
    expect(await asked).toMatchObject({ kind: "timeout" });
    late.resolve(json(node));
    await clock.advance(seconds(1));
    expect([isAnswered, decoded]).toEqual([false, []]);
  });

  test("the deadline ends a request whose body never ends, even if the transport ignores its signal", async () => {
    const { api, clock } = scripted(() => new Response(new ReadableStream({ start: () => {} })));
    const asked = failure(api.get(nodes, key, never));
    await clock.advance(seconds(30));
    expect(await asked).toMatchObject({ kind: "timeout" });
  });
});

test("reports a request as aborted if its caller is cancelled after it was sent", async () => {
  const observed: unknown[] = [];
  const sent = Promise.withResolvers<void>();
  const { api } = scripted(
    (_, signal) => {
      sent.resolve();
      return silence(signal);
    },
    { onRequest: (request) => observed.push(request) },
  );
  const cancel = new AbortController();
  const written = failure(api.patch(nodes, key, merge, cancel.signal));
  await sent.promise;
  cancel.abort(new Error("the Lease is lost"));
  expect(String(await written)).toContain("the Lease is lost");
  expect(observed).toEqual([
    expect.objectContaining({ verb: "patch", resource: "nodes", object: "a", code: "aborted" }),
  ]);
});

test("a write that is cancelled while the credential is read never reaches the network", async () => {
  const [read, credential] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const connection = {
    server: "https://api.test:6443",
    origin: "https://api.test:6443",
    proxy: undefined,
    namespace: undefined,
    refresh: () => undefined,
    access: () => {
      read.resolve();
      return credential.promise.then(() => ({ headers: {}, tls: {} }));
    },
    explainRefusal: () => undefined,
  };
  const observed: unknown[] = [];
  const onRequest = (request: unknown) => observed.push(request);
  const { api, seen, requestLimit } = scripted(() => json(node), { connection, onRequest });
  const cancel = new AbortController();
  const written = failure(api.patch(nodes, key, merge, cancel.signal));
  await read.promise;
  cancel.abort(new Error("a reload has cancelled it"));
  credential.resolve();
  expect(String(await written)).toContain("a reload has cancelled it");
  expect([seen.length, requestLimit.inFlight]).toEqual([0, 0]);
  expect(observed).toEqual([]);
});

test("an aborted request rejects with the signal's reason and releases everything", async () => {
  const { api, clock, requestLimit, writes } = scripted((_, signal) => silence(signal));
  const stop = new AbortController();
  const asked = failure(api.patch(nodes, key, merge, stop.signal));
  await clock.advance(seconds(1));
  stop.abort("enough");
  expect(await asked).toBe("enough");
  expect([requestLimit.inFlight, writes.inFlight, clock.pending]).toEqual([0, 0, 0]);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
});

test("a request answered with 401 reloads the credentials and retries once", async () => {
  const { api, seen, refreshed } = scripted((request) =>
    request.headers?.["authorization"] === "Bearer t1" ? json(node) : json({}, 401),
  );
  expect((await api.get(nodes, key, never)).metadata.name).toBe("a");
  expect([seen.length, refreshed()]).toEqual([2, 1]);
  const refusing = scripted(() => json({}, 401));
  expect(await failure(refusing.api.get(nodes, key, never))).toMatchObject({ kind: "unauthorized" });
  expect(refusing.seen.length).toBe(2);
});

test("a 401 with a known cause only states the remedy for that cause", async () => {
  const connection = {
    server: "https://api.test:6443",
    origin: "https://api.test:6443",
    proxy: undefined,
    namespace: undefined,
    refresh: () => undefined,
    access: async () => ({ headers: {}, tls: {} }),
    explainRefusal: () => "The client certificate expired. Renew it.",
  };
  const { api } = scripted(() => json({}, 401), { connection });
  expect(await failure(api.get(nodes, key, never))).toMatchObject({
    message: "The API server returned 401 for get nodes a: The client certificate expired. Renew it.",
  });
});

test("never sends a write that the gate blocks, but sends a read", async () => {
  const { api, seen, writes } = scripted(() => json(node));
  const gated = api.as({ mayWrite: () => ({ reason: "the lease may have expired." }) });
  const error = await failure(gated.patch(nodes, key, merge, never));
  expect(error).toMatchObject({ kind: "fenced" });
  expect(String(error)).toContain("the lease may have expired");
  expect([seen.length, writes.inFlight]).toEqual([0, 0]);
  await gated.get(nodes, key, never);
  expect(seen.length).toBe(1);
});

test("reports every request with its verb, resource and status code", async () => {
  const seen: string[] = [];
  const { api } = scripted((request) => (request.method === "GET" ? json(node) : json({}, 409)), {
    onRequest: ({ verb, resource, code }) => seen.push(`${verb} ${resource} ${code}`),
  });
  await api.get(nodes, key, never);
  await failure(api.patch(nodes, key, { ...merge, subresource: "status" }, never));
  expect(seen).toEqual(["get nodes 200", "patch nodes/status 409"]);
});

test("a delete sends its preconditions", async () => {
  const { api, seen } = scripted(() => json({}));
  await api.delete(nodes, key, { uid: "u", resourceVersion: "5" }, never);
  expect(JSON.parse(String(seen[0]?.body))).toMatchObject({
    preconditions: { uid: "u", resourceVersion: "5" },
  });
});
