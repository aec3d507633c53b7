import { expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { addAnswer, missingProof, noEvidence } from "../../../src/volumes/controller/plan-detachment.ts";

/** The cloud shows the machine as stopped. */
const stopped = (proof: "listing" | "lookup", asOf: number) =>
  ({ kind: "exists", instance: { state: "stopped" }, proof, asOf }) as never;

test.each(["listing", "lookup"] as const)(
  "does not accept a machine as stopped if only each %s shows it as stopped",
  (kind) => {
    const once = addAnswer(noEvidence(0), stopped(kind, 10_000), 10_000);
    const twice = addAnswer(once, stopped(kind, 60_000), 60_000);
    const missing = missingProof(twice, milliseconds(30_000), ["listing", "lookup"]);
    expect(missing?.kind).toBe(kind === "listing" ? "lookup" : "listing");
    const other = addAnswer(twice, stopped(kind === "listing" ? "lookup" : "listing", 70_000), 70_000);
    expect(missingProof(other, milliseconds(30_000), ["listing", "lookup"])).toBeUndefined();
  },
);
