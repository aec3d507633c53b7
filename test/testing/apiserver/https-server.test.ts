// The test API server over real sockets: credentials, watches, stop and restart, and the official JavaScript client.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KubeConfig } from "@kubernetes/client-node";
import { nodes as nodeResource } from "../../../src/kube/resources.ts";
import { createAuthority } from "../../../src/pki/authority.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Files } from "../../../src/platform/files.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { systemTransport } from "../../../src/platform/transport.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { HttpsServer, saveKubeconfig } from "../../../src/testing/apiserver/serving/https-server.ts";
import { OfficialClient, orUndefined } from "../../support/official-client.ts";

const server = new ApiServer({ clock: systemClock, random: systemRandom });
const authority = createAuthority("test", systemClock, systemRandom);
const nodes = resourceNamed("nodes");
let https: HttpsServer;

beforeAll(async () => {
  https = await HttpsServer.start({ server, authority, token: "a-token" });
});
afterAll(() => https.stop());

const never = () => new AbortController().signal;
const withToken = (path: string, token = "a-token", method = "GET", body?: string) =>
  systemTransport(
    {
      method,
      url: `${https.url}${path}`,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      tls: { ca: https.ca },
      ...(body !== undefined && { body }),
    },
    never(),
  );

describe("HttpsServer", () => {
  test("does not share its port with another server", () => {
    const port = Number(new URL(https.url).port);
    expect(HttpsServer.start({ server, authority, token: "b-token", port })).rejects.toThrow("in use");
  });

  test("accepts a valid bearer token and rejects an invalid token", async () => {
    expect((await withToken("/version")).status).toBe(200);
    expect((await withToken("/version", "wrong")).status).toBe(401);
  });

  test("streams watches, ends them when it stops, and keeps its objects", async () => {
    const response = await withToken("/api/v1/nodes?watch=1");
    const reader = response.body?.getReader();
    server.objects.create(nodes, "", { metadata: { name: "watched" } });
    let text = "";
    while (text.trim() === "") text += new TextDecoder().decode((await reader?.read())?.value);
    expect(JSON.parse(text)).toMatchObject({ type: "ADDED", object: { metadata: { name: "watched" } } });
    await https.stop();
    await reader?.read().catch(() => {});
    expect(withToken("/version")).rejects.toThrow();
    await https.restart();
    expect((await withToken("/api/v1/nodes/watched")).status).toBe(200);
  });

  test("ends a watch when its client disconnects", async () => {
    const stop = new AbortController();
    const url = `${https.url}/api/v1/namespaces?watch=1&resourceVersion=1`;
    const headers = { authorization: "Bearer a-token" };
    const response = await systemTransport(
      { method: "GET", url, headers, tls: { ca: https.ca } },
      stop.signal,
    );
    const reading = response.text().catch((error: unknown) => error);
    stop.abort(new Error("gone"));
    expect(await reading).toBeInstanceOf(Error);
  });

  test("breaks the connection of a request that a fault drops", async () => {
    server.faults.intercept = () => "drop";
    const request = withToken("/version");
    await request.catch(() => {});
    server.faults.intercept = undefined;
    expect(request).rejects.toThrow();
  });

  test("saves a kubeconfig that only its owner can read", async () => {
    const written: [string, number][] = [];
    const files = { write: async (path: string, _: string, mode: number) => void written.push([path, mode]) };
    await saveKubeconfig(https, files as unknown as Files, "kubeconfig");
    expect(written).toEqual([["kubeconfig", 0o600]]);
  });
});

describe("the official JavaScript client", () => {
  test("the official JavaScript client creates, lists and deletes with the kubeconfig", async () => {
    const config = new KubeConfig();
    config.loadFromString(https.kubeconfig);
    const client = new OfficialClient(config);
    const name = "foreign";
    const draft = { metadata: { name }, spec: { providerID: "x://1" }, status: {} };
    const created = await client.create(nodeResource, draft);
    expect(created.spec?.providerID).toBe("x://1");
    const items = await client.list(nodeResource, { fieldSelector: `metadata.name=${name}` });
    expect(items.map(({ metadata }) => metadata.creationTimestamp)).toEqual([expect.any(String)]);
    await client.delete(nodeResource, { name });
    expect(await orUndefined(client.get(nodeResource, { name }))).toBeUndefined();
  });
});
