// The awkward provider passes the conformance suites; further tests cover its peculiarities.

import { describe, expect, test } from "bun:test";
import {
  collect,
  converge,
  type Harness,
  instancesConformance,
  Lab,
  loadBalancersConformance,
  makeDesired,
  noInputs,
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
loadBalancersConformance("awkward, shared", harness, { pool: "p" });
routesConformance("awkward", harness);

describe("awkward", () => {
  const inPool = (name: string, port: number, ending?: "delete") =>
    makeDesired(harness, { name, ports: [port], annotations: { pool: "p" }, ...(ending && { ending }) });
  const frontsOf = (lab: Lab) =>
    (lab.simulated.state() as { balancers: { fronts: { port: number; user: string }[] }[] }).balancers.map(
      ({ fronts }) => fronts.map(({ port }) => port),
    );

  test("serves a pool with one load balancer until its last Service leaves", async () => {
    const lab = new Lab(harness);
    await converge(lab, [inPool("one", 80)]);
    await converge(lab, [inPool("one", 80), inPool("two", 81)]);
    expect(frontsOf(lab)).toEqual([[80, 81]]);
    await converge(lab, [inPool("one", 80, "delete"), inPool("two", 81)]);
    expect(frontsOf(lab)).toEqual([[81]]);
    await converge(lab, [inPool("two", 81, "delete")]);
    expect(frontsOf(lab)).toEqual([]);
  });

  test("names the Service that already uses the port", () => {
    const { loadBalancers } = new Lab(harness).cloud;
    const given = { prefetched: undefined, inputs: noInputs, orphans: [] };
    const { problems } = loadBalancers?.plan([inPool("one", 80), inPool("two", 80)], undefined, given) ?? {};
    expect(problems?.map(({ text }) => text)).toEqual([
      "TCP 80 of default/two is taken by Service 5e1f-one of this pool; use another port or pool.",
    ]);
  });

  test("leaves the status to another announcer", () => {
    const desired = makeDesired(harness, { name: "one", annotations: { announcer: "vip-agent" } });
    expect(new Lab(harness).cloud.loadBalancers?.publish(desired, undefined)).toEqual({ kind: "not-ours" });
  });

  test("lists one site while the other is unavailable", async () => {
    const lab = new Lab(harness);
    for (const name of ["a", "b"]) lab.simulated.addMachine(name);
    const [east, west] = lab.cloud.instances?.sources ?? [];
    lab.faulty.failAt(0, "outage");
    const listing = lab.run(async (call) => east && collect(east.list(call)));
    expect(await listing.catch((error: unknown) => String(error))).toContain("ListMachines");
    expect((await lab.run(async (call) => (west ? collect(west.list(call)) : []))).flat()).toHaveLength(1);
  });

  test("recognizes provider ids of the older scheme at every site", () => {
    const sources = new Lab(harness).cloud.instances?.sources ?? [];
    expect(sources.map((source) => source.keyOf("awkold://7"))).toEqual(["7", "7"]);
    expect(sources.map((source) => source.keyOf("awk://west/7"))).toEqual([undefined, "7"]);
  });
});
