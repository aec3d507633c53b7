// A volume from its claim to its deletion: once without faults, then with a crash and with each kind of fault at every request.

import { afterEach, describe, expect, test } from "bun:test";
import { VolumeWorld } from "../../support/volume-world.ts";
import {
  expectToSurviveCrashes,
  expectToSurviveFaults,
  faultsOfTheCloud,
} from "../../support/whole-lives.ts";

let world: VolumeWorld | undefined;
function open(): VolumeWorld {
  world = new VolumeWorld();
  return world;
}
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

/** Takes a claim through its whole life, and checks at each step the conditions that must hold. */
async function live(w: VolumeWorld): Promise<void> {
  const inCloud = () => w.cloud.volumes.list();
  w.claim("data");
  await w.until(() => w.isBound("data"), "bound", 900);
  // The cloud's ids count up, so there was never a second volume.
  expect(inCloud()).toMatchObject([{ id: "v1", size: 1, machine: null }]);
  const { name } = w.volumeOf("data").metadata;
  const [node] = w.nodesFor("data");
  const attachment = w.attach("data", node);
  await w.until(() => w.isAttached(attachment), "attached", 900);
  expect(inCloud()).toMatchObject([{ machine: w.machineOf(node) }]);
  expect(w.volumeOf("data").metadata.finalizers).toContain("external-attacher/csi-fake-example");
  expect(w.attachment(attachment)).toMatchObject({
    metadata: {
      finalizers: ["external-attacher/csi-fake-example"],
      annotations: { "csi.alpha.kubernetes.io/node-id": w.machineOf(node) },
    },
    status: { attached: true, attachmentMetadata: { device: "/dev/disk/by-id/fake-v1" } },
  });
  w.setInUse(node, ["data"]);
  w.changeClaim("data", (claim) => ({
    ...claim,
    spec: { ...claim.spec, resources: { requests: { storage: "3Gi" } } },
  }));
  const isExpanded = () =>
    w.getClaim("data").status?.allocatedResourceStatuses?.["storage"] === "NodeResizePending";
  await w.until(isExpanded, "expanded", 900);
  expect(inCloud()).toMatchObject([{ size: 3 }]);
  expect(w.volumeOf("data").spec?.capacity).toEqual({ storage: "3Gi" });
  w.setInUse(node, []);
  w.detach(attachment);
  await w.until(() => w.attachment(attachment) === undefined, "detached", 900);
  expect(inCloud()).toMatchObject([{ machine: null }]);
  w.deleteClaim("data");
  await w.until(() => w.volumes().length === 0, `${name} deleted`, 900);
  expect(inCloud()).toEqual([]);
}

describe("a volume", () => {
  test("a volume is created, attached, expanded, detached and deleted [N22]", async () => {
    const w = open();
    await w.start();
    await live(w);
    expect(w.changes).toEqual([
      "POST /volumes",
      "PATCH /volumes/v1",
      "PATCH /volumes/v1",
      "PATCH /volumes/v1",
      "DELETE /volumes/v1",
    ]);
    expect(w.events("data").map((text) => text.split(" ").slice(0, 2).join(" "))).toEqual([
      "Normal Provisioning",
      "Normal ProvisioningSucceeded",
      "Normal Resizing",
      "Normal FileSystemResizeRequired",
    ]);
  });

  test("a volume is neither lost nor duplicated when the process is killed at any request", () =>
    expectToSurviveCrashes({ open, live }, /volume/));

  test.each(faultsOfTheCloud)(
    "a volume reaches the same end with the fault %p at every request to the cloud",
    (fault) => expectToSurviveFaults({ open, live }, fault),
  );
});
