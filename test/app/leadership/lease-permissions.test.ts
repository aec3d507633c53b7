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
  expect(said.filter((line) => line.startsWith("Missing permissions for leader election"))).toEqual([
    expect.stringContaining(
      "get, create, update on the Lease kube-system/cloud-controller-manager, so this replica cannot become leader. Grant get, create and update as in deploy/rbac.yaml",
    ),
  ]);
});

test("a replica that lacks only the permission to watch the Lease can lead, and logs that", async () => {
  const said = await saidWith(
    (_, { resource, verb }) => resource !== "leases" || !["list", "watch"].includes(verb),
  );
  expect(said.some((line) => line.includes("Cannot watch the Lease"))).toBe(true);
  expect(said.some((line) => line.includes("Missing permissions"))).toBe(false);
});

test("a replica with all permissions reviews none of them", async () => {
  expect((await saidWith(() => true)).join()).not.toMatch(/Cannot watch|Missing permissions/);
  expect(world?.server.requests.get("create selfsubjectaccessreviews")).toBeUndefined();
});
