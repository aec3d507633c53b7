// Held objects that a user deletes by force: kubectl delete hangs, so the finalizer is removed
// manually. This does not make the cloud more credible.

import { afterEach, expect, test } from "bun:test";
import type { Service } from "../../../src/kube/objects.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { type DoubtWorld, names, settled } from "./doubt-world.ts";

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

const withoutFinalizers = <T extends Pick<Service, "metadata">>({ metadata, ...rest }: T) => ({
  ...rest,
  metadata: { ...metadata, finalizers: [] },
});

test("a force-deleted Service does not end the hold of two other Services, whose load balancers exist", async () => {
  const w = await settled({ services: 10 }, ["load-balancers"]);
  world = w;
  w.hideBalancers(...names("web", 3));
  await w.relist();
  expect(w.held("load-balancers")).toHaveLength(3);
  w.delete("web-0");
  await w.pass(60);
  w.edit("web-0", (service) => withoutFinalizers(service) as Service);
  expect(w.find("web-0")).toBeUndefined();
  await w.relist(900);
  // The load balancer of the deleted Service is deleted when the cloud shows it again.
  expect([w.cloudChanges, w.held("load-balancers")]).toEqual([
    [],
    ["default/web-0", "default/web-1", "default/web-2"],
  ]);
});

test("a force-deleted Service does not end the hold of two other Services that are being deleted", async () => {
  const w = await settled({ services: 10 }, ["load-balancers"]);
  world = w;
  w.hideBalancers(...names("web", 3));
  await w.relist();
  for (const name of names("web", 3)) w.delete(name);
  await w.pass(60);
  w.edit("web-0", (service) => withoutFinalizers(service) as Service);
  await w.relist(900);
  expect(names("web", 3).filter((name) => w.find(name) !== undefined)).toEqual(["web-1", "web-2"]);
});

test("a force-deleted PersistentVolume does not end the hold of two other PersistentVolumes, whose volumes exist", async () => {
  const w = await settled({ nodes: 3, claims: 10 }, ["volumes"]);
  world = w;
  const claims = names("data", 3);
  const [{ name: forced } = { name: "" }] = claims.map((claim) => w.volumeOf(claim).metadata);
  w.hideVolumes(...claims);
  for (const claim of claims) w.deleteClaim(claim);
  await w.pass(180);
  expect(w.held("volumes")).toHaveLength(3);
  const stored = w.server.store.get("persistentvolumes", undefined, forced);
  if (stored !== undefined) w.server.store.remove(resourceNamed("persistentvolumes"), stored);
  await w.pass(900);
  expect([w.volumes().length, w.held("volumes").length]).toEqual([9, 2]);
});
