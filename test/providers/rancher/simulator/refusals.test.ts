// Requests that the simulated Rancher rejects, with the code of each.

import { expect, test } from "bun:test";
import { setUp } from "./ask.ts";

const rule = { sourcePort: 80, targetPort: 30_080, protocol: "tcp" };

test.each([
  [{}, "MissingRequired"],
  [{ name: null }, "MissingRequired"],
  [{ name: "" }, "MinLengthExceeded"],
  [{ name: "a b" }, "InvalidCharacters"],
  [{ name: 7 }, "InvalidCharacters"],
  [{ name: "-a" }, "InvalidFormat"],
  [{ name: "a".repeat(64) }, "MaxLengthExceeded"],
  [{ name: "LBS" }, "NotUnique"],
])("the simulator rejects the stack %j with %s", async (body, code) => {
  const { ask, environment } = setUp();
  expect(await ask("POST", "/stacks", body)).toMatchObject({ status: 422, code, body: { type: "error" } });
  expect(environment.stacks).toHaveLength(1);
});

test("the simulator creates one stack for 50 simultaneous requests with its name, and each response has its type", async () => {
  const { ask, environment } = setUp();
  const all = await Promise.all(
    Array.from({ length: 50 }, () => ask("POST", "/stacks", { name: "web", externalId: "web://" })),
  );
  expect(all.map(({ status }) => status).toSorted()).toEqual([201, ...Array(49).fill(422)]);
  expect(new Set(all.map(({ body }) => body.type))).toEqual(new Set(["stack", "error"]));
  expect(environment.stacks.at(-1)).toMatchObject({ name: "web", externalId: "web://" });
});

test.each([
  [{ stackId: "1st9" }, "InvalidReference"],
  [{ stackId: null }, "MissingRequired"],
  [{ launchConfig: null }, "MissingRequired"],
  [{ launchConfig: {} }, "MissingRequired"],
  [{ launchConfig: { imageUuid: "docker:lb", ports: ["eighty"] } }, "PortWrongFormat"],
  [{ launchConfig: { imageUuid: "docker:lb", ports: ["80:80/sctp"] } }, "PortInvalidProtocol"],
  [{ lbConfig: null }, "MissingRequired"],
  [{ lbConfig: { portRules: [{ ...rule, sourcePort: null }] } }, "MissingRequired"],
  [{ lbConfig: { portRules: [{ ...rule, sourcePort: 42, selector: "a=b" }] } }, "InvalidOption"],
  [{ lbConfig: { portRules: [{ ...rule, sourcePort: 0, selector: "a=b" }] } }, "MinLimitExceeded"],
  [{ lbConfig: { portRules: [{ ...rule, sourcePort: 70_000, selector: "a=b" }] } }, "MaxLimitExceeded"],
  [{ lbConfig: { portRules: [{ ...rule, sourcePort: "x", selector: "a=b" }] } }, "InvalidFormat"],
  [{ lbConfig: { portRules: [rule] } }, "MissingRequired"],
  [{ lbConfig: { portRules: [{ ...rule, serviceId: "1s9" }] } }, "InvalidReference"],
  [{ lbConfig: { portRules: [{ ...rule, serviceId: "1s1", selector: "a=b" }] } }, "InvalidOption"],
  [{ lbConfig: { portRules: [{ ...rule, serviceId: "1s1", targetPort: null }] } }, "MissingRequired"],
  [{ lbConfig: { portRules: [{ ...rule, selector: "a=b", protocol: "sctp" }] } }, "InvalidOption"],
  [{ lbConfig: { certificateIds: ["1c9"] } }, "InvalidReference"],
  [{ scale: -1 }, "MinLimitExceeded"],
  [{ scale: "two" }, "InvalidFormat"],
])("the simulator rejects a load balancer with %j with %s", async (change, code) => {
  const { ask, balancerBody, createExternal, environment } = setUp();
  await createExternal("node-0");
  const refused = await ask("POST", "/loadBalancerServices", { ...balancerBody("lb-a"), ...change });
  expect([refused.status, refused.code]).toEqual([422, code]);
  expect(environment.services.list()).toHaveLength(1);
});

test("the simulator rejects an external service with addresses and a host name", async () => {
  const { ask, createExternal, stack } = setUp();
  const both = { externalIpAddresses: ["192.0.2.1"], hostname: "a.example" };
  const body = { name: "node-0", stackId: stack.id, ...both };
  expect((await ask("POST", "/externalServices", body)).code).toBe("InvalidOption");
  expect(await createExternal("node-0", { externalIpAddresses: null, hostname: "a.example" })).toMatchObject({
    hostname: "a.example",
    externalIpAddresses: [],
  });
});

test("the simulator rejects methods that the type lacks, unknown paths and a body that is not JSON", async () => {
  const { ask, environment, send } = setUp();
  environment.hosts.add("node-0");
  expect((await ask("POST", "/hosts", {})).code).toBe("MethodNotAllowed");
  expect((await ask("DELETE", "/hosts")).code).toBe("MethodNotAllowed");
  expect((await ask("DELETE", "/settings/lb.instance.image")).code).toBe("MethodNotAllowed");
  expect((await ask("PUT", "/stacks/1st1", {})).code).toBe("MethodNotAllowed");
  expect((await ask("GET", "/volumes")).code).toBe("NotFound");
  expect((await ask("GET", "/hosts/1h1/volumes")).code).toBe("NotFound");
  expect((await ask("GET", "/hosts/1h9")).code).toBe("NotFound");
  expect(await send("POST", "/stacks", "{")).toMatchObject({ status: 400, code: "InvalidBodyContent" });
});

test("the simulator rejects a key that is revoked in the middle of a run, and accepts it again", async () => {
  const { cloud, get } = setUp();
  cloud.addKey("access", "secret");
  expect((await get("/hosts")).status).toBe(200);
  cloud.revokeKeys();
  expect(await get("/hosts")).toMatchObject({ status: 401, code: "Unauthorized" });
  cloud.addKey("access", "secret");
  expect((await get("/hosts")).status).toBe(200);
  cloud.faults.add({ kind: "status", status: 401, code: "Unauthorized", operation: "GET /hosts", calls: 1 });
  expect([(await get("/stacks")).status, (await get("/hosts")).status, (await get("/hosts")).status]).toEqual(
    [200, 401, 200],
  );
  expect(cloud.counts()).toEqual({ "GET /hosts": 5, "GET /stacks": 1 });
});
