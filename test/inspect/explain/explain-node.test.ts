import { afterEach, describe, expect, test } from "bun:test";
import { describeObject, isNotFound } from "../../../src/inspect/explain/describe-object.ts";
import { descriptionText } from "../../../src/inspect/explain/explain-text.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Why a Node keeps its taint, or is not deleted, as an operator reads it.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const started = async (nodes: number, ...flags: readonly string[]): Promise<ServiceWorld> => {
  world = new ServiceWorld({ nodes });
  await world.start("--controllers=cloud-node,cloud-node-lifecycle", ...flags);
  return world;
};
const join = (w: ServiceWorld, name: string, more: Partial<Parameters<typeof toNode>[0]> = {}) =>
  w.server.store.put(
    resourceNamed("nodes"),
    toNode({ name, spec: { taints: [uninitialized] }, ...more }) as unknown as KubeObject,
  );
const explain = (w: ServiceWorld, name: string) => {
  const found = describeObject(w.manager, "Node", name);
  if (isNotFound(found)) throw new Error(`${name} was not found.`);
  return found;
};

describe("a Node", () => {
  test("explain shows a Node that is not initialized with the missing instance and the next attempt [F91 N7]", async () => {
    const w = await started(1, "--node-deletion=off");
    join(w, "lost");
    await w.pass(60);
    const found = explain(w, "lost");
    expect(found).toMatchObject({
      state: "problem",
      notes: [
        { severity: "error", reason: "NotFoundInCloud" },
        { severity: "notice", reason: "ProofOfAbsence" },
      ],
    });
    expect(found.nextAttemptInSeconds).toBeGreaterThanOrEqual(0);
    const text = descriptionText(found);
    expect(text).toStartWith(`Node lost: problem
  It is not Ready and not initialized. The cloud has no instance named "lost", so the Node stays
  uninitialized. Fairlead keeps checking.

  Ready:       Unknown
  Provider ID: none
  Instance:    none: proved `);
    expect(text).toContain("set --provider-id on the kubelet.");
  });

  test("explain shows a settled Node with its instance, and the age of the answer [F91 N7]", async () => {
    const w = await started(1);
    await w.pass(30);
    w.setReady("node-0", "True");
    await w.pass(30);
    const found = explain(w, "node-0");
    expect([found.state, found.summary, found.notes]).toEqual([
      "settled",
      "It is Ready and initialized, and its instance exists.",
      [],
    ]);
    w.setReady("node-0", "False");
    await w.pass(5);
    expect(explain(w, "node-0").summary).toBe(
      "It is initialized, and its instance exists, but it is not Ready. Fairlead has nothing to change; check its kubelet and its network.",
    );
    expect(found.facts["Instance"]).toMatch(/^node-0 \(1\), running, .*; seen \d+ s ago in machines$/);
  });

  test("explain names the labels that come from the cloud, and does not report the annotation that records them [F107 N7]", async () => {
    const w = await started(0, "--node-labels-from=team,rack");
    w.cloud.machines.add("n", { labels: { team: "web", rack: "r1", other: "x" } });
    join(w, "n");
    await w.pass(60);
    expect(explain(w, "n").facts["Labels from the cloud"]).toBe("rack, team (--node-labels-from)");
    expect(w.events("n").join("\n")).not.toContain("UnknownAnnotation");
    await w.pass(600);
    const written = w.server.store.get("nodes", "", "n")?.metadata.resourceVersion;
    await w.pass(3600);
    expect(w.server.store.get("nodes", "", "n")?.metadata.resourceVersion).toBe(written);
  });

  test("explain sends no control characters to the terminal that a kubelet wrote into the annotation that records labels [F107 N25]", async () => {
    const w = await started(0);
    const annotations = { "fairlead.dev/labels-from-cloud": "team,\u001b]0;title\u0007\u009b2J" };
    join(w, "n", { spec: {}, annotations });
    await w.pass(5);
    expect(explain(w, "n").facts["Labels from the cloud"]).toBe("team,  ]0;title 2J (--node-labels-from)");
  });

  test("explain shows the maintenance that the conditions of a Node announce, and changes nothing else [F91]", async () => {
    const w = await started(0);
    const set = { type: "MaintenancePlanned", status: "True" } as const;
    const unset = { type: "DrainInProgress", status: "False" } as const;
    join(w, "plain", { spec: {} });
    join(w, "planned", { spec: {}, status: { conditions: [set, unset] } });
    await w.pass(5);
    const { summary, facts } = explain(w, "planned");
    expect([summary, facts["Lifecycle"]]).toEqual([explain(w, "plain").summary, "MaintenancePlanned"]);
    expect(explain(w, "plain").facts).not.toHaveProperty("Lifecycle");
  });

  test("explain names the remaining proofs before the deletion of a Node whose instance is gone [F91 N7]", async () => {
    const w = await started(5);
    await w.pass(30);
    for (const { id } of w.cloud.machines.list()) if (id === "1") w.cloud.machines.remove(id);
    w.setReady("node-0", "False");
    await w.until(() => w.manager.report().evidenceOfAbsence[0]?.proofs.length === 1, "a proof");
    const found = explain(w, "node-0");
    expect([found.state, found.notes[0]?.reason]).toEqual(["waiting", "ProofOfAbsence"]);
    expect(found.notes[0]?.text).toMatch(
      /^The cloud has answered once without its instance, at first \d+ s ago \((listing|lookup)\)\./,
    );
  });

  test("explain names the remaining proofs before the out-of-service taint of a stopped machine, and who set the taint [F106 N7]", async () => {
    const w = await started(5, "--out-of-service-taint=enforce");
    await w.pass(30);
    w.cloud.machines.setStatus("1", "stopped");
    w.setReady("node-0", "Unknown");
    await w.until(() => explain(w, "node-0").state === "waiting", "a proof");
    const [note] = explain(w, "node-0").notes;
    expect(note?.reason).toBe("ProofOfStop");
    expect(note?.text).toMatch(
      /^The cloud has answered once that its machine is stopped, at first \d+ s ago \((listing|lookup)\)\. The Node gets the taint node\.kubernetes\.io\/out-of-service when/,
    );
    await w.until(() => explain(w, "node-0").state === "settled", "the taint");
    expect(explain(w, "node-0").summary).toBe(
      "It is not Ready and has the taint node.kubernetes.io/out-of-service, which evicts its pods and releases their volumes. Fairlead set it on proof that the machine does not run, and removes it when the machine runs or the Node is Ready.",
    );
    expect(w.manager.report().nodesOutOfService).toBe(1);
    const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
    join(w, "by-hand", { spec: { providerID: "fake://2", taints: [taint] } });
    await w.pass(5);
    expect(explain(w, "by-hand").summary).toEndWith("Fairlead did not set it, and does not remove it.");
  });

  test("explain shows a Node that the mass limit holds with the command that releases it [F91 N7]", async () => {
    const w = await started(10, "--leader-elect=true");
    await w.pass(30);
    for (const { id } of w.cloud.machines.list()) w.cloud.machines.remove(id);
    for (let index = 0; index < 10; index += 1) w.setReady(`node-${index}`, "False");
    await w.until(
      () =>
        w.manager.report().findings.some(({ name, severity }) => name === "node-0" && severity === "hold"),
      "the hold",
      300,
    );
    const found = explain(w, "node-0");
    expect([found.state, found.notes[0]?.reason]).toEqual(["held", "MassDeletionHeld"]);
    expect(found.notes[0]?.remedy).toContain("fairlead.dev/release-hold=nodes");
  });

  test("explain recommends releasing the hold instead of lifting the limit when a manager only observes [F28]", async () => {
    const w = await started(5, "--mode=observe", "--leader-elect=false");
    await w.pass(30);
    for (const machine of w.cloud.machines.list()) w.cloud.machines.remove(machine.id);
    for (let index = 0; index < 5; index += 1) w.setReady(`node-${index}`, "Unknown");
    await w.pass(180);
    expect(explain(w, "node-0").notes[0]?.remedy).toContain(
      "`kubectl -n kube-system annotate lease cloud-controller-manager fairlead.dev/release-hold=nodes`",
    );
  });

  test("explain states why a paused Node or a Node of another cloud is ignored [F91 N7]", async () => {
    const w = await started(0);
    join(w, "paused", { annotations: { "fairlead.dev/paused": "true" } });
    join(w, "foreign", { spec: { providerID: "other://1" } });
    await w.pass(5);
    expect(explain(w, "paused")).toMatchObject({
      state: "paused",
      summary: expect.stringContaining("kubectl annotate node paused fairlead.dev/paused-"),
    });
    expect(explain(w, "foreign")).toMatchObject({
      state: "unmanaged",
      summary: expect.stringContaining("other://1 belongs to another cloud"),
    });
  });

  test("explain shows a Node that --node-selector excludes as unmanaged [F91 N7]", async () => {
    const w = await started(1, "--node-selector=account=east");
    await w.pass(5);
    expect(explain(w, "node-0")).toMatchObject({
      state: "unmanaged",
      summary: "--node-selector does not match its labels, so Fairlead does not change it.",
    });
  });
});
