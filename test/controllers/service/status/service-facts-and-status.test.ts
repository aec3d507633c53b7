import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  factsPatch,
  isFactAnnotation,
  isFactLabel,
  readFacts,
} from "../../../../src/controllers/service/desired/facts.ts";
import { ingressOf, isSameIngress } from "../../../../src/controllers/service/status/status.ts";
import { ipAddress } from "../../../../src/core/ip.ts";
import type { LoadBalancerIngress, Service } from "../../../../src/kube/objects.ts";
import type { BalancerAddress } from "../../../../src/provider/load-balancers.ts";
import type { FactPlace } from "../../../../src/provider/plan.ts";
import { applyJsonPatch } from "../../../../src/testing/apiserver/patch/json-patch.ts";
import { toService } from "../service-draft.ts";

describe("facts of a Service [F40]", () => {
  const places = {
    id: { annotation: "lb.example/id" },
    name: { label: "lb.example/name" },
    address: { spec: "loadBalancerIP" },
  } as const satisfies Record<string, FactPlace>;
  const keyOf = (service: Service) => JSON.parse(JSON.stringify(service));
  const patched = (service: Service, news: Readonly<Record<string, string | undefined>>): Service => {
    const patch = factsPatch(service, places, news);
    if (patch === undefined) return service;
    return applyJsonPatch(keyOf(service), keyOf(patch.body as never)) as unknown as Service;
  };

  test("reads the facts of a Service from where the Go manager stores them", () => {
    const service = toService({
      annotations: { "lb.example/id": "7", "lb.example/name": "no" },
      labels: { "lb.example/name": "web" },
      spec: { loadBalancerIP: "1.2.3.4" },
    });
    expect(readFacts(service, places)).toEqual({ id: "7", name: "web", address: "1.2.3.4" });
    expect(readFacts(toService({ annotations: { "lb.example/id": "" } }), places)).toEqual({});
  });

  test("writes facts with a guard on the uid, and only when they changed", () => {
    const service = toService({ annotations: { "lb.example/id": "7" } });
    expect(factsPatch(service, places, { id: "7", name: undefined, address: undefined })).toBeUndefined();
    const patch = factsPatch(service, places, { id: "8" });
    expect(patch).toEqual({
      contentType: "application/json-patch+json",
      body: [
        { op: "test", path: "/metadata/uid", value: "uid-web" },
        { op: "add", path: "/metadata/annotations/lb.example~1id", value: "8" },
      ],
    });
  });

  test("facts do not overwrite an address that another writer requests at the same moment", () => {
    const service = toService();
    const patch = factsPatch(service, places, { address: "1.2.3.4" });
    const changed = toService({ spec: { loadBalancerIP: "9.9.9.9" } });
    expect(() => applyJsonPatch(keyOf(changed), keyOf(patch?.body as never))).toThrow();
  });

  test("stores facts without a declared place under Fairlead's own annotation", () => {
    const service = patched(toService(), { other: "1" });
    expect(service.metadata.annotations).toEqual({ "fairlead.dev/fact-other": "1" });
    expect(readFacts(service, places)).toEqual({ other: "1" });
    expect(patched(service, { other: undefined }).metadata.annotations).toEqual({});
    const isFact = (key: string) => isFactAnnotation(places, key);
    expect(["fairlead.dev/fact-other", "lb.example/id", "lb.example/size"].map(isFact)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("recognizes facts in labels", () => {
    expect([isFactLabel(places, "lb.example/name"), isFactLabel(places, "lb.example/id")]).toEqual([
      true,
      false,
    ]);
  });

  test("facts are read back as written, and affect nothing else", () => {
    const value = fc.option(fc.stringMatching(/^[a-z0-9.]{1,8}$/), { nil: undefined });
    const facts = fc.record({ id: value, name: value, address: value, other: value });
    fc.assert(
      fc.property(
        facts,
        fc.record({ id: value, name: value, address: value }, { requiredKeys: [] }),
        (first, news) => {
          const start = toService({ annotations: { foreign: "x" }, labels: { "lb.example/of": "y" } });
          const before = patched(start, first);
          const after = patched(before, news);
          const left = Object.entries({ ...readFacts(before, places), ...news }).filter(
            ([, each]) => each !== undefined,
          );
          expect(readFacts(after, places)).toEqual(Object.fromEntries(left) as Record<string, string>);
          expect(after.metadata.annotations?.["foreign"]).toBe("x");
          expect(after.metadata.labels?.["lb.example/of"]).toBe("y");
          expect(factsPatch(after, places, news)).toBeUndefined();
        },
      ),
    );
  });
});

describe("status of a Service", () => {
  const addresses: readonly BalancerAddress[] = [
    { ip: ipAddress("1.2.3.4"), ipMode: "Proxy" },
    { ip: ipAddress("fd00::1") },
    { hostname: "lb.example", ipMode: "Proxy" },
  ];

  test("the status of a Service shows the provider's ipMode if Kubernetes accepts one [F34]", () => {
    expect(ingressOf({ kind: "addresses", addresses })).toEqual([
      { ip: "1.2.3.4", ipMode: "Proxy" },
      { ip: "fd00::1" },
      { hostname: "lb.example" },
    ]);
  });

  const entry: fc.Arbitrary<LoadBalancerIngress> = fc.record(
    {
      ip: fc.constantFrom("1.2.3.4", "fd00::1"),
      ipMode: fc.constantFrom("VIP", "Proxy"),
      hostname: fc.constantFrom("a", "b"),
      ports: fc.array(
        fc.record({ port: fc.constantFrom(80, 443), protocol: fc.constantFrom("TCP", "UDP") }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: ["ip"] },
  );
  const entries = fc.array(entry, { maxLength: 4 });

  test("the status of a Service is equal in any order and with the ipMode that the server fills in", () => {
    fc.assert(
      fc.property(
        entries.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([list, shuffled]) => {
          const filled = shuffled.map((each) => ({ ...each, ipMode: each.ipMode ?? "VIP" }));
          expect(isSameIngress(list, shuffled)).toBe(true);
          expect(isSameIngress(list, filled)).toBe(true);
          expect(isSameIngress(filled, list)).toBe(true);
        },
      ),
    );
  });

  test("the status of a Service differs with one more entry or another ipMode", () => {
    fc.assert(
      fc.property(entries, entry, (list, one) => {
        fc.pre(!list.some((other) => isSameIngress([other], [one])));
        expect(isSameIngress(list, [...list, one])).toBe(false);
        expect(isSameIngress([{ ...one, ipMode: "Proxy" }], [{ ...one, ipMode: "VIP" }])).toBe(false);
      }),
    );
  });

  test("the status of a Service counts a repeated address once, which the Rancher Go manager lists for each port", () => {
    const one = { ip: "192.0.2.1" };
    expect(isSameIngress([one, { ip: "192.0.2.2" }, one], [{ ip: "192.0.2.2" }, one])).toBe(true);
    expect(isSameIngress([one, one], [one, { ip: "192.0.2.2" }])).toBe(false);
  });

  test("the status of a Service compares addresses by value", () => {
    expect(isSameIngress([{ ip: "FD00:0::1" }], [{ ip: "fd00::1" }])).toBe(true);
    expect(isSameIngress(undefined, [])).toBe(true);
  });
});
