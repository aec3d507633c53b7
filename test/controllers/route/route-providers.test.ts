// The route controller with real providers and their clouds: one with a call per route, one with a document.

import { afterEach, expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { fake } from "../../../providers/fake/index.ts";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { readSettings } from "../../../src/core/read-settings.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { CloudTransport } from "../../../src/provider/call.ts";
import type { Context } from "../../../src/provider/provider.ts";
import type { RouteTables } from "../../../src/provider/routes.ts";
import { noInputs } from "../../../src/testing/conformance/lab.ts";
import { awkward } from "../../support/awkward/awkward.ts";
import { AwkwardCloud } from "../../support/awkward/awkward-cloud.ts";
import { RouteWorld } from "./route-world.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const contextOver = (transport: Transport, cluster: string): Context => ({
  inputs: noInputs,
  readSecret: async () => undefined,
  announce: () => undefined,
  mark: { cluster, owner: "fairlead" },
  account: (account) => {
    const plain: CloudTransport = async (request, call, read) => read(await transport(request, call.signal));
    const credential = async (call: Parameters<typeof plain>[1]) => (await account.fetch(plain, call)).value;
    return {
      credential,
      messages: () => {
        throw new Error("No provider here receives messages.");
      },
      transport: async (request, call, read) =>
        plain(await account.sign(request, await credential(call), 0), call, read),
    };
  },
});

const there = (routes: RouteTables | undefined): RouteTables => {
  if (routes === undefined) throw new Error("The provider has no routes.");
  return routes;
};

test("the provider with one call per route changes only its own routes, not another cluster's in the same range [F58 F60]", async () => {
  let cloud: FakeCloud | undefined;
  world = new RouteWorld({
    routes: (clock) => {
      cloud = new FakeCloud({ clock, token: "fake" });
      for (const cluster of ["another", "mine"]) {
        const destination = cluster === "mine" ? "10.244.8.0/24" : "10.244.9.0/24";
        cloud.routes.create({ destination, machine: "gone", labels: { cluster } });
      }
      const { values } = readSettings(fake.config, {}, { what: "setting" });
      return there(fake.connect(values, contextOver(asTransport(cloud), "mine")).routes);
    },
  });
  for (const index of [1, 2, 3]) world.add(`n${index}`, `10.244.${index}.0/24`);
  await world.settle();
  const shown = () =>
    cloud?.routes
      .list()
      .map(({ destination, machine }) => `${destination} -> ${machine}`)
      .toSorted();
  const foreign = "10.244.9.0/24 -> gone";
  expect(shown()).toEqual(["10.244.1.0/24 -> n1", "10.244.2.0/24 -> n2", "10.244.3.0/24 -> n3", foreign]);
  for (const index of [1, 2, 3]) world.nodes.remove(`n${index}`);
  await world.pass(10);
  expect(shown()).toEqual([foreign]);
});

test("the provider with one document keeps entries of other clients [F60 F62]", async () => {
  const cloud = new AwkwardCloud();
  const [foreign] = cloud.entries;
  cloud.entries = [...cloud.entries, { to: "10.244.8.0/24", via: "gone" }];
  world = new RouteWorld({
    routes: () => there(awkward.connect({}, contextOver(cloud.transport, "mine")).routes),
  });
  for (const index of [1, 2, 3]) world.add(`n${index}`, `10.244.${index}.0/24`);
  await world.settle();
  expect(cloud.entries.map(({ to, via }) => `${to} via ${via}`)).toEqual([
    "default via gateway",
    "10.244.1.0/24 via n1",
    "10.244.2.0/24 via n2",
    "10.244.3.0/24 via n3",
  ]);
  expect(cloud.entries[0]).toEqual(foreign as NonNullable<typeof foreign>);
  // The unwanted route was removed before the machines were known; the other three changes came together.
  expect(cloud.revision).toBe(3);
});
