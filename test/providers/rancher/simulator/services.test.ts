// Services of the simulated Rancher: states, actions, links and public endpoints.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../../../src/core/brand.ts";
import { setUp } from "./ask.ts";

const offered = (body: { readonly actions: object }) => Object.keys(body.actions).toSorted();

test("the simulator offers the actions of each state on the way from creation to removal", async () => {
  const { ask, createBalancer, get, pass } = setUp();
  const { links } = await createBalancer("lb-a");
  const steps: (readonly [string, readonly string[]])[] = [];
  const look = async () => {
    const { body } = await get(links.self);
    steps.push([body.state, offered(body)]);
    return body;
  };
  await look();
  await pass();
  const inactive = await look();
  await ask("POST", inactive.actions.activate, {});
  await look();
  await pass();
  await look();
  await ask("PUT", links.self, { scale: 2 });
  await look();
  await pass();
  await ask("POST", (await get(links.self)).body.actions.deactivate, {});
  await look();
  await pass();
  await ask("PUT", links.self, { scale: 3 });
  await look();
  await pass();
  await ask("DELETE", links.self);
  await look();
  await pass();
  expect((await get(links.self)).body).toMatchObject({ state: "removed", removed: expect.any(String) });
  await look();
  expect(steps).toEqual([
    ["registering", ["remove", "setservicelinks"]],
    ["inactive", ["activate", "remove", "setservicelinks", "update", "upgrade"]],
    ["activating", ["deactivate", "remove", "setservicelinks", "update", "upgrade"]],
    ["active", ["deactivate", "remove", "setservicelinks", "update", "upgrade"]],
    ["updating-active", ["deactivate", "remove", "setservicelinks", "update", "upgrade"]],
    ["deactivating", ["remove", "setservicelinks"]],
    ["updating-inactive", ["deactivate", "remove", "setservicelinks"]],
    ["removing", ["setservicelinks"]],
    ["removed", []],
  ]);
});

test("the simulator rejects an action that the state does not offer, and an unknown action", async () => {
  const { ask, createExternal, pass } = setUp();
  const { links, state } = await createExternal("node-0");
  expect(state).toBe("registering");
  expect((await ask("POST", `${links.self}/?action=activate`, {})).code).toBe("ActionNotAvailable");
  expect((await ask("POST", `${links.self}/?action=setservicelinks`, {})).code).toBe("ActionNotAvailable");
  expect((await ask("POST", `${links.self}/?action=explode`, {})).code).toBe("InvalidAction");
  expect((await ask("POST", links.self, {})).code).toBe("MethodNotAllowed");
  expect((await ask("PUT", links.self, { externalIpAddresses: ["192.0.2.9"] })).code).toBe("Conflict");
  await pass();
  expect((await ask("PUT", links.self, { externalIpAddresses: ["192.0.2.9"] })).status).toBe(200);
});

test("the simulator accepts a second removal, and keeps the name in use until the first removal has ended", async () => {
  const { ask, createExternal, get, pass, stack } = setUp();
  const { links } = await createExternal("node-0");
  expect((await ask("DELETE", links.self)).body.state).toBe("removing");
  await pass(seconds(0.5));
  expect((await ask("DELETE", links.self)).status).toBe(200);
  const again = () =>
    ask("POST", "/externalServices", {
      name: "NODE-0",
      stackId: stack.id,
      externalIpAddresses: ["192.0.2.1"],
    });
  expect((await again()).code).toBe("NotUnique");
  expect((await get("/externalServices?removed_null=1")).body.data).toHaveLength(1);
  await pass(seconds(0.5));
  expect((await get("/externalServices?removed_null=1")).body.data).toHaveLength(0);
  expect((await again()).status).toBe(201);
  expect((await ask("DELETE", links.self)).body.state).toBe("removed");
});

test("setservicelinks sets a load balancer's links until a change of its port rules replaces them", async () => {
  const { ask, createBalancer, createExternal, get, pass } = setUp();
  const [first, second] = [await createExternal("node-0"), await createExternal("node-1")];
  const balancer = await createBalancer("lb-a");
  await pass();
  const linked = async () =>
    (await get(balancer.links.consumedservices)).body.data.map(({ id }: { readonly id: string }) => id);
  const action = balancer.actions.setservicelinks;
  await ask("POST", action, { serviceLinks: [{ serviceId: first.id }, { serviceId: second.id }] });
  expect(await linked()).toEqual([first.id, second.id]);
  expect((await ask("POST", action, { serviceLinks: [{}] })).code).toBe("MissingRequired");
  expect((await ask("POST", action, { serviceLinks: [{ serviceId: "1s99" }] })).code).toBe(
    "InvalidReference",
  );
  const rule = { sourcePort: 80, targetPort: 30_080, protocol: "tcp", serviceId: second.id };
  await ask("PUT", balancer.links.self, { lbConfig: { portRules: [rule] } });
  expect(await linked()).toEqual([second.id]);
});

test("the simulator publishes endpoints one by one, and shows a load balancer as healthy with the last endpoint", async () => {
  const { createBalancer, environment, get, pass } = setUp();
  environment.hosts.add("node-0");
  environment.hosts.add("node-1");
  environment.services.endpointInterval = seconds(5);
  const ports = ["80:80/tcp", "198.51.100.7:443:443/tcp"];
  const { links } = await createBalancer("lb-a", ports, { scale: 2, startOnCreate: true });
  await pass(seconds(2));
  const seen: [number, string][] = [];
  for (let count = 0; count < 5; count += 1) {
    const { body } = await get(links.self);
    seen.push([body.publicEndpoints.length, body.healthState]);
    await pass(seconds(5));
  }
  expect(seen.map(([count]) => count)).toEqual([0, 1, 2, 3, 4]);
  expect(seen.map(([, health]) => health)).toEqual([...Array(4).fill("initializing"), "healthy"]);
  expect((await get(links.self)).body.publicEndpoints.slice(0, 2)).toMatchObject([
    { ipAddress: "192.0.2.1", port: 80, hostId: "1h1", serviceId: expect.any(String) },
    { ipAddress: "198.51.100.7", port: 443, instanceId: expect.any(String) },
  ]);
});

test("the simulator withholds the action activate for a time, and for a number of polls", async () => {
  const { ask, cloud, createExternal, get, pass } = setUp();
  const { links } = await createExternal("node-0");
  await pass();
  const { body } = await get(links.self);
  cloud.withholdActivate(minutes(1));
  expect((await ask("POST", body.actions.activate, {})).code).toBe("ActionNotAvailable");
  await pass(minutes(1));
  cloud.withholdActivateForPolls(2);
  const polls: boolean[] = [];
  for (let count = 0; count < 3; count += 1)
    polls.push(offered((await get(links.self)).body).includes("activate"));
  expect(polls).toEqual([false, false, true]);
  expect((await ask("POST", body.actions.activate, {})).status).toBe(202);
});

test("the simulator reports an activation error until its cause is removed", async () => {
  const { createBalancer, environment, get, pass } = setUp();
  const { obstacles } = environment.services;
  obstacles.fail("lb-a", "No host has the label");
  obstacles.occupy(443);
  const failing = await createBalancer("lb-a", undefined, { startOnCreate: true });
  const occupied = await createBalancer("lb-b", ["443:443/tcp"], { startOnCreate: true });
  await pass(seconds(5));
  const error = { state: "activating", transitioning: "error" };
  expect((await get(failing.links.self)).body).toMatchObject({
    ...error,
    transitioningMessage: "No host has the label",
  });
  expect((await get(occupied.links.self)).body).toMatchObject({
    ...error,
    transitioningMessage: "Allocation failed: host has port 443 in use",
  });
  obstacles.repair("lb-a");
  obstacles.free(443);
  await pass(seconds(5));
  for (const { links } of [failing, occupied])
    expect((await get(links.self)).body).toMatchObject({ state: "active", transitioning: "no" });
});

test("the simulator keeps an external service in the state removing until it is released", async () => {
  const { ask, createExternal, environment, get, pass } = setUp();
  const { links } = await createExternal("node-0");
  environment.services.obstacles.stick("node-0");
  await ask("DELETE", links.self);
  await pass(minutes(10));
  expect((await get(links.self)).body).toMatchObject({
    state: "removing",
    removed: null,
    transitioning: "yes",
  });
  environment.services.obstacles.release("node-0");
  await pass(seconds(2));
  expect((await get(links.self)).body.state).toBe("removed");
});
