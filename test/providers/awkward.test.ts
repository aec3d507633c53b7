// The awkward provider passes the conformance suites; further tests cover its special features.

import { describe, expect, test } from "bun:test";
import {
  collect,
  type Harness,
  instancesConformance,
  Lab,
  loadBalancersConformance,
  makeDesired,
  routesConformance,
} from "#ccm/testing";
import { awkward } from "../support/awkward/awkward.ts";
import { AwkwardCloud } from "../support/awkward/awkward-cloud.ts";

const harness: Harness = {
  definition: awkward,
  config: {},
  // Machines alternate between two sites, with two machines per page.
  listingRequests: (machines) =>
    Math.max(1, Math.ceil(Math.ceil(machines / 2) / 2)) +
    Math.max(1, Math.ceil(Math.floor(machines / 2) / 2)),
  simulate: () => {
    const cloud = new AwkwardCloud();
    let added = 0;
    return {
      transport: cloud.transport,
      addMachine: (name) => cloud.add(added++ % 2 === 0 ? "east" : "west", name),
      stopMachine: (name) => cloud.change(name, (machine) => ({ ...machine, power: "off" })),
      terminateMachine: (name) => cloud.change(name, (machine) => ({ ...machine, power: "leaving" })),
      removeMachine: (name) => cloud.change(name, () => undefined),
      state: () => ({ balancers: [...cloud.balancers.values()], entries: cloud.entries }),
      disturbRoutes: () => {
        cloud.entries = [...cloud.entries, { to: "172.16.0.0/12", via: "tunnel", note: "another tool's" }];
        cloud.revision++;
      },
    };
  },
};

instancesConformance("awkward", harness);
loadBalancersConformance("awkward", harness);
routesConformance("awkward", harness);

describe("awkward", () => {
  test("the awkward provider leaves the status to another announcer", () => {
    const desired = makeDesired(harness, { name: "one", annotations: { announcer: "vip-agent" } });
    expect(new Lab(harness).cloud.loadBalancers?.publish(desired, undefined)).toEqual({ kind: "not-ours" });
  });

  test("the awkward provider lists one site while the other is unavailable", async () => {
    const lab = new Lab(harness);
    for (const name of ["a", "b"]) lab.simulated.addMachine(name);
    const [east, west] = lab.cloud.instances?.sources ?? [];
    lab.faulty.failAt(0, "outage");
    const listing = lab.run(async (call) => east && collect(east.list(call)));
    expect(await listing.catch((error: unknown) => String(error))).toContain("ListMachines");
    expect((await lab.run(async (call) => (west ? collect(west.list(call)) : []))).flat()).toHaveLength(1);
  });

  test("the awkward provider recognizes provider ids of the older scheme at every site", () => {
    const sources = new Lab(harness).cloud.instances?.sources ?? [];
    expect(sources.map((source) => source.keyOf("awkold://7"))).toEqual(["7", "7"]);
    expect(sources.map((source) => source.keyOf("awk://west/7"))).toEqual([undefined, "7"]);
  });
});
