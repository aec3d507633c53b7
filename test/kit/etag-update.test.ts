// Changing an object that several clients write: nothing is lost, and nothing is written without need.

import { expect, test } from "bun:test";
import { CloudError, type CloudTransport, jsonApi, updateWithETag } from "../../src/index.ts";

interface Network {
  readonly routes: readonly string[];
}
const call = { signal: new AbortController().signal, urgency: "refresh" } as const;
const target = { path: "/networks/7", operations: { read: "GetNetwork", write: "PutNetwork" } };

/** `others`: how many times another client adds a route between a read and the write. */
const cloud = ({ others = 0, hasETag = true, status = 412 } = {}) => {
  let routes: readonly string[] = ["a"];
  let revision = 1;
  let left = others;
  const sent: string[] = [];
  const transport: CloudTransport = async ({ method, headers, body }, _call, read) => {
    sent.push(method);
    if (method === "GET") {
      const answer = Response.json({ routes }, hasETag ? { headers: { etag: `"${revision}"` } } : {});
      if (left-- > 0) {
        routes = [...routes, `other-${revision}`];
        revision++;
      }
      return read(answer);
    }
    if (headers?.["if-match"] !== `"${revision}"`)
      return read(Response.json({ message: "it has changed" }, { status }));
    routes = (JSON.parse(String(body)) as Network).routes;
    revision++;
    return read(Response.json({ routes }));
  };
  const api = jsonApi({ base: "https://api.example", transport });
  const add = (route: string) =>
    updateWithETag<Network>(
      api,
      target,
      (network) => (network.routes.includes(route) ? undefined : { routes: [...network.routes, route] }),
      call,
    );
  return { add, sent, routes: () => routes };
};

test.each([412, 409])(
  "keeps what another client wrote between read and write, refused with %d",
  async (status) => {
    const { add, sent, routes } = cloud({ others: 2, status });
    expect(await add("b")).toEqual({ routes: ["a", "other-1", "other-2", "b"] });
    expect(routes()).toEqual(["a", "other-1", "other-2", "b"]);
    expect(sent).toEqual(["GET", "PUT", "GET", "PUT", "GET", "PUT"]);
  },
);

test("passes on the conflict after three attempts, so that the framework can wait", async () => {
  const { add, sent, routes } = cloud({ others: 9 });
  const error = await add("b").catch((thrown: unknown) => thrown);
  expect(CloudError.is(error) && [error.kind, error.detail.operation]).toEqual(["conflict", "PutNetwork"]);
  expect([sent.length, routes().includes("b")]).toEqual([6, false]);
});

test("writes nothing when nothing is to be changed", async () => {
  const { add, sent } = cloud();
  expect([await add("a"), sent]).toEqual([undefined, ["GET"]]);
});

test("writes nothing when the cloud returns no ETag", async () => {
  const { add, sent } = cloud({ hasETag: false });
  await expect(add("b")).rejects.toThrow("GetNetwork returned no ETag");
  expect(sent).toEqual(["GET"]);
});
