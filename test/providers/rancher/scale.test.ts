// How many requests Rancher's manager sends in common situations, and how large its listings are.

import { expect, test } from "bun:test";
import { converge, makeDesired, targetOf } from "#ccm/testing";
import { harness } from "../../../providers/rancher/simulator/harness.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { labWithTargets } from "../../../src/testing/conformance/desired.ts";
import { comparedIn } from "../../../src/testing/conformance/load-balancers-conformance.ts";
import { listBalancers } from "../../../src/testing/conformance/plan-inputs.ts";
import { RancherWorld } from "./rancher-world.ts";

const requestsOf = (h: RancherWorld, status: number) =>
  h.cloud.seen.filter((one) => one.mutates && one.status === status).map(({ operation }) => operation);

/** The number of values that are compared with the previous listing. */
async function comparedWith(services: number, nodes: number): Promise<number> {
  const targets = Array.from({ length: nodes }, (_, index) =>
    targetOf(`node-${index}`, "hosts", `${index}`, `10.0.0.${index + 1}`),
  );
  const desired = Array.from({ length: services }, (_, index) =>
    makeDesired(harness, { name: `s${index}`, ports: [1000 + index], targets }),
  );
  const lab = labWithTargets(harness);
  await converge(lab, desired);
  return comparedIn(await listBalancers(lab));
}

// Comparing a large listing blocks the event loop, and the leader loses its Lease.
test("twice the Services and Nodes at most quadruple the number of values in listings [N25]", async () => {
  expect(await comparedWith(6, 12)).toBeLessThanOrEqual(4 * (await comparedWith(3, 6)));
});

test.if(runsAllTests)("initializes 1,000 Nodes with at most 6 requests [S8 F9]", async () => {
  const h = new RancherWorld();
  for (let index = 0; index < 1000; index += 1) {
    h.cloud.environment.hosts.add(`node-${index}`);
    h.join(`node-${index}`);
  }
  await h.start("cloud-node,cloud-node-lifecycle");
  await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
  expect(h.cloud.seen.length).toBeLessThanOrEqual(6);
});

test.if(runsAllTests)(
  "shares the external services of 50 simultaneous Services, with one change each when a Node joins or leaves",
  async () => {
    const h = new RancherWorld(10);
    await h.start("service");
    const names = Array.from({ length: 50 }, (_, index) => `s${index}`);
    for (const [index, name] of names.entries()) {
      const ports = [{ port: 1000 + index, protocol: "TCP", nodePort: 30_000 + index }];
      h.world.create(name, { spec: { ports } });
    }
    await h.world.until(
      () => names.every((name) => h.world.addressesOf(name).length > 0),
      "all addresses",
      60,
    );
    expect(h.cloud.seen.length).toBeLessThanOrEqual(500);
    expect([h.balancers.length, h.externals.length]).toEqual([50, 10]);
    const changes = names.map(() => "PUT /loadBalancerServices/{id}");
    await h.world.pass(60);
    h.forget();
    h.addNode("more");
    await h.world.pass(120);
    expect(requestsOf(h, 200)).toEqual(changes);
    expect(requestsOf(h, 201)).toEqual(["POST /externalServices"]);
    expect(h.cloud.seen.length).toBeLessThanOrEqual(130);
    h.forget();
    h.world.removeNode("node-3");
    await h.world.pass(120);
    // Several Services may remove it at the same moment. The server accepts a second removal, without effect.
    const isRemoval = (operation: string) => operation === "DELETE /externalServices/{id}";
    expect(requestsOf(h, 200).filter((operation) => !isRemoval(operation))).toEqual(changes);
    const removed = h.cloud.seen.filter(({ operation }) => isRemoval(operation)).map(({ path }) => path);
    expect(new Set(removed).size).toBe(1);
    expect(h.cloud.seen.length).toBeLessThanOrEqual(190);
    expect(h.externals).toHaveLength(10);
    h.forget();
    await h.world.stop();
    await h.start("service");
    await h.world.pass(60);
    expect(h.changes).toEqual([]);
    for (const name of names) h.world.delete(name);
    await h.world.until(() => h.world.services().length === 0, "all deletions", 120);
    await h.world.pass(60);
    expect([h.balancers.length, h.externals.length]).toEqual([0, 0]);
    const warnings = names
      .flatMap((name) => h.world.events(name))
      .filter((text) => text.startsWith("Warning"));
    expect(warnings).toEqual([]);
  },
);
