// The schema collection of the simulated Rancher, from which clients learn all URLs.

import { expect, test } from "bun:test";
import { base, setUp } from "./ask.ts";

test("the simulator links the account's schemas in each response, and an environment's schemas in the environment", async () => {
  const { get } = setUp();
  for (const path of ["", "/", "/projects/1a5", "/projects/1a5/hosts"])
    expect((await get(path)).headers.get("x-api-schemas")).toBe(`${base}/schemas`);
  const own = { schemas: `${base}/projects/1a5/schemas`, hosts: `${base}/projects/1a5/hosts` };
  expect((await get("/projects/1a5")).body.links).toMatchObject(own);
  expect((await get("/projects")).body.data).toMatchObject([{ id: "1a5", links: own }]);
  expect((await get("/projects/1a5")).body).toMatchObject({ type: "project", id: "1a5", name: "Default" });
  expect([(await get("/projects/1a9")).code, (await get("/projects/1a9/hosts")).code]).toEqual([
    "NotFound",
    "NotFound",
  ]);
});

test("the simulator describes every type: methods, fields, filters and actions", async () => {
  const { get } = setUp();
  const { body } = await get("/schemas");
  const byID = new Map<string, (typeof body)["data"][number]>(
    body.data.map((schema: { readonly id: string }) => [schema.id, schema]),
  );
  expect(byID.get("loadBalancerService")).toMatchObject({
    type: "schema",
    pluralName: "loadBalancerServices",
    links: { collection: `${base}/loadBalancerServices`, self: `${base}/schemas/loadBalancerService` },
    collectionMethods: ["GET", "POST"],
    resourceMethods: ["GET", "PUT", "DELETE"],
    resourceFields: {
      name: { type: "string", create: true, required: true },
      stackId: { type: "reference[stack]", required: true },
      lbConfig: { type: "lbConfig", update: true },
      state: { create: false, update: false },
    },
    resourceActions: { setservicelinks: { input: "setServiceLinksInput", output: "service" } },
  });
  expect(byID.get("externalService").resourceActions.setservicelinks).toBeUndefined();
  expect(byID.get("host")).toMatchObject({ collectionMethods: ["GET"], includeableLinks: ["ipAddresses"] });
  expect(byID.get("host").collectionFilters.uuid.modifiers).toContain("notnull");
  expect(byID.get("portRule")).toMatchObject({
    collectionMethods: [],
    links: { self: `${base}/schemas/portRule` },
  });
});

test("every collection of the schemas can be listed, and each of its types is described", async () => {
  const { createBalancer, createExternal, environment, get } = setUp();
  environment.hosts.add("node-0");
  environment.addCertificate("shop");
  await createExternal("node-0");
  await createBalancer("lb-a");
  const { body } = await get("/schemas");
  const ids = new Set(body.data.map(({ id }: { readonly id: string }) => id));
  for (const { id, links, resourceFields } of body.data) {
    for (const { type } of Object.values<{ readonly type: string }>(resourceFields)) {
      const named = /([a-zA-Z]+)\]*$/.exec(type)?.[1] ?? "";
      const isKnown = ids.has(named) || /^(string|int|boolean|enum|date|json|instance)$/.test(named);
      expect([id, type, isKnown]).toEqual([id, type, true]);
    }
    if (links.collection === undefined || id === "subscribe") continue;
    const listed = await get(links.collection);
    expect([id, listed.status, listed.body.data.length > 0]).toEqual([id, 200, true]);
    for (const { type, links: own } of listed.body.data) {
      expect([id, ids.has(type)]).toEqual([id, true]);
      if (id !== "schema") expect((await get(own.self)).body).toMatchObject({ type });
    }
  }
});

test("the simulator shows an account its environments, but hosts and services only within an environment", async () => {
  const { get, cloud, environment, createExternal } = setUp();
  environment.hosts.add("node-1");
  await createExternal("one");
  cloud.addAccountKey("access", "secret");
  const sizeOf = async (path: string) => (await get(path)).body.data.length;
  for (const path of ["/hosts", "/services", "/externalServices", "/stacks", "/ipAddresses"]) {
    expect([path, await sizeOf(path), await sizeOf(`/projects/1a5${path}`)]).toEqual([path, 0, 1]);
  }
  expect([await sizeOf("/projects"), await sizeOf("/settings")]).toEqual([1, 1]);
});
