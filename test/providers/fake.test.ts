// The fake provider passes the conformance suites; further tests cover its own features.

import { describe, expect, test } from "bun:test";
import {
  converge,
  instancesConformance,
  Lab,
  loadBalancersConformance,
  makeDesired,
  readSettings,
  routesConformance,
  targetOf,
  volumesConformance,
} from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
import { harness, harnessWith } from "../../providers/fake/simulator/harness.ts";
import type { NodeName } from "../../src/core/brand.ts";
import { cidr } from "../../src/core/cidr.ts";

instancesConformance("fake", harness);
loadBalancersConformance("fake", harness);
loadBalancersConformance("fake, names not unique", harnessWith({ hasUniqueNames: false }));
routesConformance("fake", harness);
volumesConformance("fake", harness);

describe("fake", () => {
  test("invents the same machine for any Node name without a cloud [F100]", async () => {
    const lab = new Lab({ ...harness, config: { "answer-any-node": "true" } });
    const source = lab.cloud.instances?.sources[0];
    const byName = await lab.run(async (call) => source?.lookups?.name?.find(["worker-7"], call));
    const instance = byName?.get("worker-7")?.[0];
    expect(instance?.id as string).toBe("fake://any-worker-7");
    const key = source?.keyOf(instance?.id ?? "") ?? "";
    lab.connect();
    const reconnected = lab.cloud.instances?.sources[0];
    const byID = await lab.run(async (call) => reconnected?.lookups?.id?.find([key], call));
    expect(byID?.get(key)).toEqual([instance as never]);
    expect(lab.requests).toEqual([]);
  });

  test("releases a load balancer of the fake cloud without deleting it", async () => {
    const lab = new Lab(harness);
    const targets = [targetOf("node-1", "machines", "1")];
    await converge(lab, [makeDesired(harness, { name: "web", targets })]);
    await converge(lab, [makeDesired(harness, { name: "web", ending: "release" })]);
    const { balancers } = lab.simulated.state() as { balancers: readonly { name: string; labels: object }[] };
    expect(balancers.map(({ labels }) => labels)).toEqual([{ cluster: "another" }, {}]);
  });

  test("publishes an address of each requested family, and applies source ranges", async () => {
    const lab = new Lab(harness);
    const plain = makeDesired(harness, { name: "web" });
    const dual = { ...plain, families: ["IPv4", "IPv6"] as const, sourceRanges: [cidr("198.51.100.0/24")] };
    const shown = async (desired: typeof plain) => {
      const { observed } = await converge(lab, [desired]);
      const balancer = observed.get(desired.owner.uid);
      const ranges = balancer && lab.cloud.loadBalancers?.rangesOf?.(balancer, desired.owner.uid);
      return [lab.cloud.loadBalancers?.publish(desired, balancer), ranges];
    };
    const addresses = (...ips: readonly string[]) => ({
      kind: "addresses",
      addresses: ips.map((ip) => ({ ip })),
    });
    expect(await shown(plain)).toEqual([addresses("192.0.2.2"), ["0.0.0.0/0"]] as never);
    expect(await shown(dual)).toEqual([
      addresses("192.0.2.2", "2001:db8::2"),
      [cidr("198.51.100.0/24")],
    ] as never);
    expect(await shown({ ...dual, families: ["IPv6"] as const })).toEqual([
      addresses("2001:db8::2"),
      [cidr("198.51.100.0/24")],
    ] as never);
  });

  test("rejects a route to a Node without a machine before any request to the cloud", async () => {
    const lab = new Lab(harness);
    const { routes } = lab.cloud;
    if (routes === undefined || !("style" in routes) || routes.style !== "one-by-one")
      throw new Error("The fake cloud creates its routes one by one.");
    const target = { node: "node-1" as NodeName, uid: "1", addresses: [], internalIPs: [] };
    const created = lab.run((call) => routes.create({ destination: cidr("10.244.1.0/24"), target }, call));
    await expect(created).rejects.toThrow("No route to Node node-1: its machine is not known yet.");
    expect(lab.requests).toEqual([]);
  });

  test("the fake provider has defaults for its whole configuration", () => {
    const { values, problems } = readSettings(fake.config, {}, { what: "setting" });
    expect(problems).toEqual([]);
    expect([values["page-size"], values["lookup-limit"], String(values.token)]).toEqual([
      50,
      100,
      "[secret]",
    ]);
  });
});
