// A reason that only the provider knows reaches events, conditions, metrics and the schema.

import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { configurationSchema } from "../../../src/app/configuration/json-schema.ts";
import { declareReasons, type ProviderProblem } from "../../../src/index.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";

const reasons = declareReasons({ CertificateExpired: "The certificate has expired. Renew it." });

const shown = async (reason: ProviderProblem["reason"]) => {
  const problem: ProviderProblem = { severity: "error", reason, text: "certificate web has expired" };
  const { w } = scriptedWorld(undefined, () => ({ plan: () => ({ steps: [], problems: [problem] }) }), {
    reasons,
  });
  await w.start();
  w.create("web");
  await w.pass(30);
  return {
    events: w.events("web"),
    conditions: w.get("web").status.conditions?.map((condition) => `${condition.type} ${condition.reason}`),
    metrics: w.manager.metrics.text().split("\n"),
  };
};

test("a declared reason is the reason of the event, the condition and the metric [F89]", async () => {
  const { events, conditions, metrics } = await shown(reasons.CertificateExpired);
  expect(events).toContain("Warning CertificateExpired certificate web has expired");
  expect(conditions).toEqual(["CloudReady CertificateExpired"]);
  expect(metrics).toContain('fairlead_problems{object="Service",reason="CertificateExpired"} 1');
});

test("the schema lists the common reasons and the provider's reasons, with the remedies", () => {
  const provider = { ...fake, reasons } as unknown as AnyProvider;
  const { $defs } = configurationSchema(provider, "acme") as unknown as {
    $defs: { problemReasons: { oneOf: readonly { const: string; description: string }[] } };
  };
  const byName = new Map($defs.problemReasons.oneOf.map((one) => [one.const, one.description]));
  expect(byName.get("CertificateExpired")).toBe("The certificate has expired. Renew it.");
  expect(byName.get("PortConflict")).toContain("Use a different port.");
});
