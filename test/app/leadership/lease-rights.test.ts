import { afterEach, expect, test } from "bun:test";
import type { Authorize } from "../../../src/testing/apiserver/http/reviews.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

/** The Lease messages of a manager with only these permissions. Every client may review its own access. */
const saidWith = async (allows: Authorize): Promise<readonly string[]> => {
  world = new ServiceWorld({
    authorize: (who, question) => question.resource === "selfsubjectaccessreviews" || allows(who, question),
  });
  await world.start("--leader-elect=true");
  await world.pass(30);
  return world.logged.map((line) => line.split("] ")[1] ?? "").filter((line) => line.includes("Lease"));
};

test("a replica without any permission logs once that it can never lead", async () => {
  const said = await saidWith(() => false);
  expect(said.filter((line) => line.startsWith("This replica cannot lead"))).toEqual([
    expect.stringContaining(
      "it may not get, create, update the Lease kube-system/cloud-controller-manager. Expected get, create and update; compare the cluster's roles with deploy/rbac.yaml",
    ),
  ]);
});

test("a replica that may only not watch the Lease can lead and logs just that", async () => {
  const said = await saidWith(
    (_, { resource, verb }) => resource !== "leases" || !["list", "watch"].includes(verb),
  );
  expect(said.some((line) => line.includes("may not be watched"))).toBe(true);
  expect(said.some((line) => line.includes("cannot lead"))).toBe(false);
});

test("a replica with all permissions reviews none of them", async () => {
  expect((await saidWith(() => true)).join()).not.toContain("may not");
  expect(world?.server.requests.get("create selfsubjectaccessreviews")).toBeUndefined();
});
