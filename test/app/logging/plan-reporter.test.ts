import { afterEach, describe, expect, test } from "bun:test";
import { PlanReporter } from "../../../src/app/logging/observe-reporter.ts";
import { describePatch } from "../../../src/controllers/kernel/describe-patch.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { finalizerPatch } from "../../../src/kube/patches/finalizer-patch.ts";
import { nodeConditionsPatch, nodeConditionsRemovalPatch } from "../../../src/kube/patches/node-patch.ts";
import { jsonPatch } from "../../../src/kube/patches/patch.ts";
import { serviceStatusPatch } from "../../../src/kube/patches/service-patch.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { NodeControllers, uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let end: () => Promise<void> = async () => undefined;
afterEach(async () => {
  await end();
});

const textsOf = (lines: readonly string[]) =>
  lines.flatMap((line) => /\] (Would .*)\n$/.exec(line)?.[1] ?? []);

/** Both node controllers in observe mode, and the plans in their log. */
const observing = () => {
  const w = new NodeControllers({
    mode: "observe",
    machines: [machine("n0", { state: "stopped" })],
  });
  const lines: string[] = [];
  const log = createLog({
    format: "text",
    verbosity: 0,
    clock: w.clock,
    write: (line) => lines.push(line),
  });
  const plans = new PlanReporter(log);
  w.nodes.journal.subscribe((entry) => plans.report(entry));
  end = () => w.stop();
  return { w, would: () => textsOf(lines) };
};
const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

test("observe mode logs planned writes to a Node with their values, once per plan although taints keep changing [N3 F76]", async () => {
  const { w, would } = observing();
  w.start("node", "lifecycle");
  w.nodes.add({ name: "n0", spec: { taints: [uninitialized] } });
  w.nodes.setReady("n0", "False");
  await w.pass(30);
  for (const taints of [[uninitialized, notReady], [notReady, uninitialized], [uninitialized]]) {
    w.nodes.change("n0", (node) => ({ ...node, spec: { ...node.spec, taints } }));
    await w.pass(120);
  }
  expect(would()).toEqual([
    expect.stringMatching(
      /^Would patch status: addresses \S+=\S+.* object="node\/n0" because="the Node joined"$/,
    ),
    'Would patch: taint node.cloudprovider.kubernetes.io/shutdown:NoSchedule added object="node/n0" because="the instance is shut down"',
    expect.stringMatching(
      /^Would patch: provider ID fake:\/\/n0, taint node.cloudprovider.kubernetes.io\/uninitialized:NoSchedule removed, .*label node.kubernetes.io\/instance-type=t1.micro.* object="node\/n0" because="the Node joined"$/,
    ),
  ]);
});

test("observe mode logs a changed plan again", async () => {
  const { w, would } = observing();
  w.start("node");
  w.nodes.add({ name: "n0", spec: { taints: [uninitialized] } });
  await w.pass(30);
  w.nodes.change("n0", (node) => ({ ...node, spec: { ...node.spec, providerID: "fake://n0" } }));
  await w.pass(30);
  const reported = would().filter((line) => line.startsWith("Would patch: "));
  expect(reported.map((line) => line.includes("provider ID"))).toEqual([true, false]);
});

test("observe mode logs planned cloud changes with the Service, its ports and the number of targets [N3 F76]", async () => {
  const w = new ServiceWorld();
  end = () => w.stop();
  w.create("web", {
    spec: {
      ports: [
        { name: "a", port: 80, protocol: "TCP" },
        { name: "b", port: 443, protocol: "TCP" },
      ],
    },
  });
  await w.start("--mode=observe");
  await w.pass(7200);
  expect(textsOf(w.logged)).toEqual([
    expect.stringMatching(
      /^Would create balancer: for default\/web: ports 80\/TCP 443\/TCP to 3 targets object="balancer\/a[0-9a-f]+" because="default\/web: load balancer needed"$/,
    ),
  ]);
});

test("enforce mode does not describe the writes that it sends", async () => {
  const w = new NodeControllers({ machines: [machine("n0")] });
  end = () => w.stop();
  w.start("node");
  w.nodes.add({ name: "n0", spec: { taints: [uninitialized] } });
  await w.pass(30);
  const entries = w.nodes.journal.entries();
  expect(entries).toMatchObject([{ outcome: "done" }, { outcome: "done" }]);
  for (const entry of entries) expect([entry.detail, "describe" in entry]).toEqual([undefined, false]);
});

describe("describePatch", () => {
  const node = toNode({ name: "n0" });
  const service = {
    metadata: { ...node.metadata, finalizers: ["other"] },
    spec: {},
    status: {
      loadBalancer: {},
      conditions: [{ type: "A", status: "True", reason: "B", message: "", lastTransitionTime: "" }],
    },
  } satisfies Service;
  const words = (patch: Parameters<typeof describePatch>[1] | undefined) =>
    patch === undefined ? undefined : describePatch(service, patch);

  test("a planned write names conditions that are set and removed, without their messages", () => {
    const condition = { type: "CloudReady", status: "False", reason: "Gone", message: "a long story" };
    expect(describePatch(node, nodeConditionsPatch(node, [condition]))).toBe(
      "condition CloudReady=False (Gone) set",
    );
    expect(describePatch(node, nodeConditionsRemovalPatch(node, ["CloudReady"]))).toBe(
      "condition CloudReady removed",
    );
    expect(words(serviceStatusPatch({ service, conditions: [] }))).toBe("condition A=True (B) removed");
  });

  test("a planned write names a Service's addresses and finalizers", () => {
    expect(words(serviceStatusPatch({ service, ingress: [{ ip: "192.0.2.1" }, { hostname: "lb" }] }))).toBe(
      "addresses 192.0.2.1 lb",
    );
    expect(words(finalizerPatch(service, "own", "present"))).toBe("finalizer own added");
    expect(words(finalizerPatch(service, "other", "absent"))).toBe("finalizer other removed");
  });

  test("a planned write never shows values of annotations or unknown paths", () => {
    const secret = "s3cr3t";
    const body = ["/metadata/annotations/a~1b", "/spec/other"].map(
      (path) => ({ op: "add", path, value: secret }) as const,
    );
    const whole = { op: "add", path: "/metadata/annotations", value: { token: secret } } as const;
    expect(describePatch(node, jsonPatch([...body, whole]))).toBe(
      "annotation a/b, add /spec/other, annotation token",
    );
  });
});

test("an oversized plan reports that earlier changes are missing [F76]", () => {
  const warnings: string[] = [];
  const ignore = () => undefined;
  const log = {
    info: ignore,
    debug: ignore,
    error: ignore,
    warn: (text: string) => void warnings.push(text),
  };
  const plans = new PlanReporter(log);
  const common = {
    at: 0,
    target: "cluster",
    action: "patch",
    why: "the Node joined",
    outcome: "observed",
  } as const;
  for (let index = 0; index < 50_000; index++) plans.report({ ...common, object: `node/${index}` });
  expect([plans.planned.length, warnings]).toEqual([50_000, []]);
  plans.report({ ...common, object: "node/last" });
  expect(warnings).toEqual([
    expect.stringMatching(/^More than 50000 changes would be made\. .* only the later ones\.$/),
  ]);
});
