import { afterEach, expect, test } from "bun:test";
import { runCommandIn } from "../../support/command-world.ts";
import { VolumeWorld } from "../../support/volume-world.ts";

// The command `plan` with the volume controller, in a cluster with volumes.

let world: VolumeWorld | undefined;
afterEach(() => world?.stop());

const plan = async (w: VolumeWorld) => {
  const flags = ["--controllers=volume", "--configure-cloud-routes=false"];
  const result = await runCommandIn(w, ["plan", "--master=http://test-api-server", ...flags]);
  expect([...result.kube, ...result.cloud].filter((request) => !request.startsWith("GET "))).toEqual([]);
  return result;
};

/** A cluster with an attached and a detached volume; no manager runs. */
async function settled(): Promise<VolumeWorld> {
  const w = new VolumeWorld();
  world = w;
  await w.start();
  for (const name of ["attached", "idle"]) w.claim(name);
  await w.until(() => w.isBound("attached") && w.isBound("idle"), "bound", 60);
  const attachment = w.attach("attached", w.nodesFor("attached")[0]);
  await w.until(() => w.isAttached(attachment), "attached", 60);
  await w.stop();
  w.forget();
  return w;
}

test("plan changes nothing while volumes need no change [F76]", async () => {
  const { code, out } = await plan(await settled());
  expect([code, out]).toEqual([
    0,
    "Plan: 4 Nodes and 0 Services of type LoadBalancer: no changes would be made.\n",
  ]);
});

test("plan shows the changes that the volume controller would make, each problem once, and changes nothing [F76]", async () => {
  const w = await settled();
  w.claim("new");
  w.createClass("wrong", { parameters: { tier: "turbo" } });
  w.claim("wrong", { spec: { storageClassName: "wrong" } });
  w.attach("idle", w.nodesFor("idle")[0]);
  const { code, out } = await plan(w);
  expect(code).toBe(3);
  expect(out).toContain("    CreateVolume\n    because claim default/new needs a volume\n");
  expect(out).toContain("    ControllerPublishVolume\n    because VolumeAttachment attach-idle-");
  expect(out).toContain("  PersistentVolumeClaim default/wrong: problem\n");
  expect(out.split("tier must be one of standard, fast")).toHaveLength(2);
});

test("plan shows the changes that the volume controller would make while sidecars run [F76]", async () => {
  const w = await settled();
  w.claim("new");
  w.renewSidecar("csi-fake-example");
  const { code, out } = await plan(w);
  expect([code, out]).toEqual([3, expect.stringContaining("because claim default/new needs a volume")]);
});
