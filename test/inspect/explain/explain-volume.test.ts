import { afterEach, expect, test } from "bun:test";
import {
  describeEverything,
  describeObject,
  isNotFound,
} from "../../../src/inspect/explain/describe-object.ts";
import type { DescribedKind, Description } from "../../../src/inspect/explain/description.ts";
import { readExplainRequest } from "../../../src/inspect/explain/explain-request.ts";
import { descriptionText, notFoundText } from "../../../src/inspect/explain/explain-text.ts";
import { renderDocument } from "../../../src/inspect/status/status-page.ts";
import { statusViewOf } from "../../../src/inspect/status/status-view.ts";
import { readQuery } from "../../../src/inspect/status/view-query.ts";
import { runCommandIn } from "../../support/command-world.ts";
import { VolumeWorld } from "../../support/volume-world.ts";

// The reasons for the state of a claim or a PersistentVolume, as `explain` and /status show them.

let world: VolumeWorld | undefined;
afterEach(() => world?.stop());

async function open(controllers = "volume"): Promise<VolumeWorld> {
  world = new VolumeWorld({ nodes: 6, controllers });
  await world.start();
  return world;
}

async function attached(w: VolumeWorld): Promise<{ node: string; attachment: string; volume: string }> {
  w.claim("data");
  await w.until(() => w.isBound("data"), "bound");
  const [node] = w.nodesFor("data");
  const attachment = w.attach("data", node);
  await w.until(() => w.isAttached(attachment), "attached");
  await w.pass(5);
  return { node, attachment, volume: w.volumeOf("data").metadata.name };
}

const explain = (w: VolumeWorld, kind: DescribedKind, name: string): Description => {
  const found = describeObject(w.manager, kind, name);
  if (isNotFound(found)) throw new Error(notFoundText(found));
  return found;
};

test("a claim in use is settled, with its volume, its size and its machine", async () => {
  const w = await open();
  const { node, volume } = await attached(w);
  const found = explain(w, "PersistentVolumeClaim", "default/data");
  expect(descriptionText(found)).toStartWith(`PersistentVolumeClaim default/data: settled
  It has the volume v1 (${volume}), attached to ${node}.

  Status:           Bound
  Storage class:    fake
  Size:             1Gi
  PersistentVolume: ${volume}
  Reclaim policy:   Delete
  Volume:           v1
  Attached to:      ${node}
`);
  expect(found.decisions.map(({ action }) => action)).toContain("ControllerPublishVolume");
  expect(explain(w, "PersistentVolume", volume)).toMatchObject({
    state: "settled",
    summary: `It is Bound to default/data, and its volume is attached to ${node}.`,
  });
  expect(describeEverything(w.manager)).toEqual([]);
});

test("a claim with an invalid StorageClass parameter reports the problem and the next attempt", async () => {
  const w = await open();
  w.createClass("wrong", { parameters: { tier: "fats" } });
  w.claim("data", { spec: { storageClassName: "wrong" } });
  await w.until(() => w.events("data").length > 0, "the event");
  await w.pass(20);
  const found = explain(w, "PersistentVolumeClaim", "default/data");
  expect([found.state, found.nextAttemptInSeconds !== undefined]).toEqual(["problem", true]);
  expect(found.notes.map(({ reason, text }) => `${reason}: ${text}`)).toContainEqual(
    expect.stringMatching(/^ProvisioningFailed: .*"fats"/),
  );
  expect(describeEverything(w.manager)).toMatchObject([
    { kind: "PersistentVolumeClaim", name: "default/data" },
  ]);
});

test("a claim that waits for its first pod is ignored", async () => {
  const w = await open();
  w.binds = false;
  w.claim("data");
  await w.pass(5);
  const { state, summary } = explain(w, "PersistentVolumeClaim", "default/data");
  expect([state, summary]).toEqual(["unmanaged", expect.stringContaining("WaitForFirstConsumer")]);
});

test("a claim and its PersistentVolume show why the volume is not detached", async () => {
  const w = await open();
  const { node, attachment, volume } = await attached(w);
  w.setInUse(node, ["data"]);
  w.detach(attachment);
  await w.pass(60);
  for (const [kind, name] of [
    ["PersistentVolumeClaim", "default/data"],
    ["PersistentVolume", volume],
  ] as const) {
    const { state, notes, facts } = explain(w, kind, name);
    expect([state, notes[0]?.reason, facts["Attached to"]]).toEqual([
      ...["problem", "DetachmentWaits", `${node} (being detached)`],
    ]);
  }
});

test("a PersistentVolume of another driver is not managed", async () => {
  const w = await open();
  w.createVolume("other", { spec: { csi: { driver: "other.example", volumeHandle: "x" } } });
  await w.pass(5);
  expect(explain(w, "PersistentVolume", "other")).toMatchObject({
    state: "unmanaged",
    summary: "It belongs to other.example. Fairlead manages volumes of csi.fake.example.",
  });
});

test("a claim with a typo in its name is not found, and the existing name is suggested", async () => {
  const w = await open();
  w.claim("data");
  await w.until(() => w.isBound("data"), "bound");
  const found = describeObject(w.manager, "PersistentVolumeClaim", "default/dta");
  expect(isNotFound(found) && notFoundText(found)).toBe(
    "PersistentVolumeClaim default/dta does not exist; did you mean default/data?",
  );
});

test("without the volume controller, explain shows how to enable it", async () => {
  const w = await open("service");
  const { state, summary } = explain(w, "PersistentVolumeClaim", "default/data");
  expect([state, summary]).toEqual(["unmanaged", expect.stringContaining("add volume to --controllers")]);
});

test("explain shows a claim and a PersistentVolume from the API server, without a volume controller or the cloud", async () => {
  const w = await open();
  const { volume } = await attached(w);
  await w.stop();
  const run = (...args: readonly string[]) =>
    runCommandIn(w, ["explain", ...args, "--master=http://test-api-server"]);
  const claim = await run("pvc", "data");
  expect(claim.out.replaceAll(/\s+/g, " ")).toContain(
    `It has the volume v1 (${volume}), attached to unknown Nodes (only a running manager knows the attachments).`,
  );
  expect(claim.out).toContain("the API server only, because --controllers has no volume here.");
  expect(claim.out).toContain("ProvisioningSucceeded");
  expect((await run("pv", volume)).out).toMatch(/Claim: +default\/data\n/);
  expect([...claim.cloud, ...claim.kube.filter((request) => !request.startsWith("GET "))]).toEqual([]);
  const missing = await run("pvc", "dat");
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("did you mean default/data?")]);
});

test.each([
  [["pvc", "data"], { kind: "PersistentVolumeClaim", name: "shop/data" }],
  [["persistentvolumeclaims/data"], { kind: "PersistentVolumeClaim", name: "shop/data" }],
  [["pv", "pvc-1"], { kind: "PersistentVolume", name: "pvc-1" }],
] as const)("explain parses the arguments %p as kubectl does", (words, object) => {
  expect(readExplainRequest(words, "shop")).toEqual({ object });
});

test("/status has a row for each claim and each PersistentVolume without a claim", async () => {
  const w = await open();
  const { node, volume } = await attached(w);
  w.createVolume("other", { spec: { csi: { driver: "other.example", volumeHandle: "x" } } });
  await w.pass(5);
  const view = statusViewOf(w.manager);
  expect(
    view.volumes?.map(({ name, tone, details }) => [name, tone, details()?.cells["Attached to"]]),
  ).toEqual([
    ["default/data", "good", node],
    ["other", "quiet", "no Node"],
  ]);
  const text = renderDocument(view, readQuery(new URLSearchParams("filter=default/data")), "program");
  const section = text.slice(text.indexOf('id="volumes-table"'), text.indexOf('id="holds"'));
  expect(section).toContain(">default/data</th>");
  expect(section).toContain(volume);
  expect(section).not.toContain(">other</th>");
});
