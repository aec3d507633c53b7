// Traces as OpenTelemetry's own parser reads them.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { type Span, tracesJson } from "../../src/telemetry/tracer.ts";
import { goProgram, orSkipped } from "./rig/install.ts";

const reader = orSkipped("traces", () => goProgram(join(import.meta.dir, "otlp")));

const root: Span = {
  trace: "0af7651916cd43dd8448eb211c80319c",
  id: "b7ad6b7169203331",
  parent: undefined,
  name: "reconcile service",
  kind: "internal",
  startedAt: 1_795_000_000_123.25,
  durationMs: 40.5,
  attributes: { "fairlead.key": "default/shop", share: 0.5, count: 3, isFirst: true, missing: undefined },
  error: undefined,
};
const request: Span = {
  ...root,
  id: "00f067aa0ba902b7",
  parent: root.id,
  name: "POST /balancers",
  kind: "client",
  durationMs: 20,
  attributes: {},
  error: "quota exceeded",
};

test.skipIf(reader === undefined)("OpenTelemetry reads the traces as they were sent [F88]", () => {
  const body = tracesJson({ "service.name": "fake-cloud-controller-manager" }, [root, request]);
  const { stdout, stderr } = Bun.spawnSync([reader ?? ""], { stdin: Buffer.from(body) });
  expect(stderr.toString()).toBe("");
  expect(stdout.toString().trim().split("\n")).toEqual([
    "fake-cloud-controller-manager|0af7651916cd43dd8448eb211c80319c|b7ad6b7169203331||reconcile service|Internal|40.5ms|Unset|map[count:3 fairlead.key:default/shop isFirst:true share:0.5]",
    "fake-cloud-controller-manager|0af7651916cd43dd8448eb211c80319c|00f067aa0ba902b7|b7ad6b7169203331|POST /balancers|Client|20ms|Error|map[]",
  ]);
});
