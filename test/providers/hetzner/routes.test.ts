// Routes to pods in the private network of a Hetzner project.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const flags = ["--cluster-cidr=10.244.0.0/14", "--configure-cloud-routes=true"];
const isChange = (operation: string): boolean => !operation.startsWith("GET ");

function routesOf(h: HetznerWorld): readonly string[] {
  const { routes } = h.cloud.project.networks.existing(h.networkID);
  return routes.map(({ destination, gateway }) => `${destination} ${gateway}`).toSorted();
}

const setRoutes = (h: HetznerWorld, ...routes: readonly string[]) =>
  h.cloud.project.networks.change(h.networkID, {
    routes: routes.map((text) => {
      const [destination = "", gateway = ""] = text.split(" ");
      return { destination, gateway };
    }),
  });

const expected = ["10.244.0.0/24 10.0.0.2", "10.244.1.0/24 10.0.0.3", "10.244.2.0/24 10.0.0.4"];

test("creates one route per Node to its address in the network [F58]", async () => {
  const h = new HetznerWorld({ nodes: 3, hasNetwork: true });
  await h.start("cloud-node,route", ...flags);
  await h.world.until(() => routesOf(h).length === 3, "the routes", 60);
  expect(routesOf(h)).toEqual(expected);
  expect(h.requests.filter(isChange)).toHaveLength(3);
  h.forget();
  await h.world.pass(600);
  expect(h.requests.filter(isChange)).toEqual([]);
});

test("creates the routes of many Nodes one after the other, without a pause [F58]", async () => {
  const h = new HetznerWorld({ nodes: 30, hasNetwork: true });
  await h.start("cloud-node,route", ...flags);
  await h.world.until(() => routesOf(h).length === 30, "the routes", 60);
  expect(h.cloud.seen.filter(({ status }) => status === 409 || status === 423)).toEqual([]);
});

test("takes over the routes of the Go manager without a change [F60]", async () => {
  const h = new HetznerWorld({ nodes: 3, hasNetwork: true });
  setRoutes(h, ...expected);
  await h.start("cloud-node,route", ...flags);
  await h.world.pass(300);
  expect(h.requests.filter(isChange)).toEqual([]);
  expect(routesOf(h)).toEqual(expected);
});

test("touches only routes inside the range of the cluster [F60]", async () => {
  const h = new HetznerWorld({ nodes: 1, hasNetwork: true });
  const foreign = "192.168.0.0/16 10.0.0.77";
  setRoutes(h, foreign);
  await h.start("cloud-node,route", ...flags);
  await h.world.pass(120);
  expect(routesOf(h)).toEqual([expected[0] ?? "", foreign]);
});

test("replaces a route that leads to a different address", async () => {
  const h = new HetznerWorld({ nodes: 3, hasNetwork: true });
  setRoutes(h, "10.244.0.0/24 10.0.0.99", ...expected.slice(1));
  await h.start("cloud-node,route", "--removal-limit=off", ...flags);
  await h.world.until(() => routesOf(h).join() === expected.join(), "the new route", 300);
});

test("reports that a server is not attached to the network, and creates the route once the server is attached", async () => {
  const h = new HetznerWorld({ nodes: 2, hasNetwork: true });
  h.cloud.project.servers.detach("node-1", h.networkID);
  await h.start("cloud-node,route", ...flags);
  await h.world.pass(60);
  expect(routesOf(h)).toEqual(expected.slice(0, 1));
  expect(h.world.logged.join("")).toContain("not attached to the network");
});

test.if(runsAllTests)("warns before the limit of 100 routes per network is reached", async () => {
  const h = new HetznerWorld({ nodes: 97, hasNetwork: true, requestsPerHour: 100_000 });
  await h.start("cloud-node,route", ...flags);
  await h.world.until(() => routesOf(h).length === 97, "the routes", 600);
  await h.world.pass(120);
  expect(h.world.logged.join("")).toContain("100");
});

test.if(runsAllTests)(
  "sends at most 150 requests in an hour for a hung action of an earlier process, which delays no route afterwards [F58]",
  async () => {
    const h = new HetznerWorld({ nodes: 40, hasNetwork: true });
    const { actions } = h.cloud.project;
    actions.time = 7_200_000 as never;
    await h.start("cloud-node,route", ...flags);
    await h.world.pass(60);
    h.world.crash();
    actions.time = 1000 as never;
    await h.start("cloud-node,route", ...flags);
    h.forget();
    await h.world.pass(3600);
    expect(h.requests.filter(isChange).length).toBeLessThanOrEqual(150);
    await h.world.pass(3600);
    await h.world.until(() => routesOf(h).length === 40, "the routes", 300);
  },
);
