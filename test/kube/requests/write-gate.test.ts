import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import type { Connection } from "../../../src/kube/connection/connection.ts";
import { nodes } from "../../../src/kube/resources.ts";
import { failure, json, scripted } from "../support/scripted.ts";

const never = new AbortController().signal;
const merge = { contentType: "application/merge-patch+json", body: {} } as const;

test("does not send a write if the Lease expires while credentials are fetched", async () => {
  const credentials = Promise.withResolvers<Awaited<ReturnType<Connection["access"]>>>();
  const connection: Connection = {
    server: "https://api.test:6443",
    origin: "https://api.test:6443",
    proxy: undefined,
    namespace: undefined,
    access: () => credentials.promise,
    refresh: () => undefined,
    explainRefusal: () => undefined,
  };
  const { api, clock, seen } = scripted(() => json({}), { connection });
  let isOurs = true;
  const gated = api.as({ mayWrite: () => isOurs || { reason: "the lease may have expired." } });
  const asked = failure(gated.patch(nodes, { name: "a" }, merge, never));
  await clock.advance(seconds(1));
  isOurs = false;
  credentials.resolve({ headers: {}, tls: undefined });
  expect(await asked).toMatchObject({ kind: "fenced" });
  expect(seen).toEqual([]);
});
