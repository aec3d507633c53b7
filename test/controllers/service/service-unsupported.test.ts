import { describe, expect, test } from "bun:test";
import { unsupportedRequests } from "../../../src/controllers/service/annotations/without-effect.ts";
import { toDesired } from "../../../src/controllers/service/desired/to-desired.ts";
import { messageIn } from "../../../src/core/problem.ts";
import type { Cidr, ServiceFeature } from "../../../src/index.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { toService } from "./service-draft.ts";

// Requests for features that the cloud does not support are reported on the Service, in one event.

const port = { port: 53, nodePort: 30_053 };
const tcp = { port: 80, nodePort: 30_080, protocol: "TCP" };

const textOf = (
  spec: ReturnType<typeof toService>["spec"],
  ranges: readonly string[] | undefined,
  supports: readonly ServiceFeature[] | undefined,
) => {
  const sourceRanges = ranges as readonly Cidr[] | undefined;
  const parts = { service: toService({ spec }), settings: {}, facts: {}, targets: [], sourceRanges };
  return unsupportedRequests(toDesired(parts), supports).map(messageIn);
};

describe("unsupportedRequests", () => {
  const local = { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 };
  const cases: readonly [
    ServiceFeature,
    Parameters<typeof textOf>[0],
    readonly string[] | undefined,
    string,
  ][] = [
    [
      "UDP",
      { ports: [tcp, { ...port, protocol: "UDP" }] },
      undefined,
      "UDP (port 53 gets no traffic from it)",
    ],
    [
      "SCTP",
      { ports: [tcp, { ...port, protocol: "SCTP" }] },
      undefined,
      "SCTP (port 53 gets no traffic from it)",
    ],
    ["sourceRanges", {}, ["10.0.0.0/8"], "source ranges (it forwards the traffic of every client)"],
    [
      "sessionAffinity",
      { sessionAffinity: "ClientIP" },
      undefined,
      "sessionAffinity ClientIP (a client may reach several Nodes)",
    ],
    [
      "healthCheckNodePort",
      local,
      undefined,
      "health checks for externalTrafficPolicy Local (Nodes without an endpoint get traffic, and drop it)",
    ],
  ];
  test.each(cases)("reports %s only when the provider does not declare it", (feature, spec, ranges, text) => {
    expect(textOf(spec, ranges, undefined)).toEqual([
      `The load balancers of this cloud do not support: ${text}. Everything else of the Service is applied. Remove it from the Service, or ensure it in another way.`,
    ]);
    expect(textOf(spec, ranges, [feature])).toEqual([]);
  });

  test("reports nothing about features that every cloud has", () => {
    expect([textOf({}, undefined, undefined), textOf({}, ["0.0.0.0/0", "::/0"], undefined)]).toEqual([
      [],
      [],
    ]);
  });

  test("reports no health check while only Nodes with an endpoint are targets", () => {
    const service = toService({ spec: local });
    const parts = { service, settings: {}, facts: {}, targets: [], sourceRanges: undefined };
    const desired = { ...toDesired(parts), targetsHaveEndpoints: true } as const;
    expect(unsupportedRequests(desired, [])).toEqual([]);
  });
});

test("a Service that requests several unsupported features gets one event, without a separate write", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.forget();
  w.editSpec("web", { sessionAffinity: "ClientIP", loadBalancerSourceRanges: ["10.0.0.0/8"] });
  await w.pass(30);
  const warnings = () => w.events("web").filter((text) => text.startsWith("Warning "));
  expect(warnings()).toEqual([
    "Warning UnsupportedRequest The load balancers of this cloud do not support: source ranges (it forwards the traffic of every client); sessionAffinity ClientIP (a client may reach several Nodes). Everything else of the Service is applied. Remove it from the Service, or ensure it in another way.",
  ]);
  expect([w.written, script.applied.length]).toEqual([[], 1]);
  w.crash();
  await w.start();
  await w.pass(30);
  expect([w.written, script.applied.length]).toEqual([[], 1]);
});
