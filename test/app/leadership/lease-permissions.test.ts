import { afterEach, expect, test } from "bun:test";
import type { Authorize } from "../../../src/testing/apiserver/http/serve-reviews.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

/** The log messages about the Lease with only these permissions. Every client may review its own access. */
const saidWith = async (allows: Authorize): Promise<readonly string[]> => {
  world = new ServiceWorld({
    authorize: (who, question) => question.resource === "selfsubjectaccessreviews" || allows(who, question),
  });
  await world.start("--leader-elect=true");
  await world.pass(30);
  return world.logged.map((line) => line.split("] ")[1] ?? "").filter((line) => /lease/i.test(line));
};

test.each(["get", "create"])(
  "a replica without the permission to %s its Lease logs the missing permission once",
  async (verb) => {
    const said = await saidWith((_, question) => question.resource !== "leases" || question.verb !== verb);
    expect(said.filter((line) => line.includes(`403 for ${verb} leases`))).toEqual([
      expect.stringMatching(
        /leases kube-system\/cloud-controller-manager: .* To grant it, without a restart: `fake-cloud-controller-manager rbac .*--leader-elect=true --set user=admin \| kubectl apply -f -`\n/,
      ),
    ]);
  },
);

test("a replica without any permission reports the Lease permission first, because it needs that permission first", async () => {
  const said = await saidWith(() => false);
  expect(said.filter((line) => line.includes("403 for get leases"))).toHaveLength(1);
});

test("a replica that only lacks the permission to watch the Lease can lead, and logs the missing permission", async () => {
  const said = await saidWith(
    (_, { resource, verb }) => resource !== "leases" || !["list", "watch"].includes(verb),
  );
  expect(said.some((line) => line.includes("Cannot watch the Lease"))).toBe(true);
  expect(said.some((line) => /403 for (get|create|update)/.test(line))).toBe(false);
});

test("a replica with all permissions sends no access review", async () => {
  expect((await saidWith(() => true)).join()).not.toMatch(/Cannot watch|403/);
  expect(world?.server.requests.get("create selfsubjectaccessreviews")).toBeUndefined();
});
