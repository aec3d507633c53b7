import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  defaultLoadBalancerName,
  describeService,
  serviceProblems,
} from "../../src/controllers/service/describe.ts";
import { factsPatch, isFactAnnotation, isFactLabel, readFacts } from "../../src/controllers/service/facts.ts";
import {
  familiesOf,
  healthCheckPathPort,
  isAllowAll,
  sourceRangesOf,
} from "../../src/controllers/service/source-ranges.ts";
import { ingressOf, isSameIngress } from "../../src/controllers/service/status.ts";
import { serviceUID } from "../../src/core/brand.ts";
import { cidr, parseCidr } from "../../src/core/cidr.ts";
import { integer, oneOf } from "../../src/core/fields.ts";
import { ipAddress } from "../../src/core/ip.ts";
import type { LoadBalancerIngress, Service } from "../../src/kube/objects.ts";
import type { BalancerAddress } from "../../src/provider/load-balancers.ts";
import type { FactPlace } from "../../src/provider/plan.ts";
import { applyJsonPatch } from "../../src/sandbox/json-patch.ts";
import { toService, toTarget } from "./service-draft.ts";

const fields = {
  size: integer("Its size.", { min: 1 }, { fallback: 1 }),
  algorithm: oneOf("How.", ["a", "b"], { fallback: "a" }),
};
const settings = { size: 1, algorithm: "a" } as const;
const describeSpec = (spec: Service["spec"]) =>
  describeService<typeof fields>({ service: toService({ spec }), settings, facts: {}, targets: [] });

describe("a Service as a wish", () => {
  test("of the smallest Service", () => {
    const uid = "8b7a5b3c-1f2e-4d3c-9a8b-7c6d5e4f3a2b";
    const targets = [toTarget("n")];
    const wish = describeService<typeof fields>({
      service: toService({ uid }),
      settings,
      facts: { id: "7" },
      targets,
    });
    expect(wish).toEqual({
      owner: { uid: serviceUID(uid), namespace: "default", name: "web" },
      defaultName: "a8b7a5b3c1f2e4d3c9a8b7c6d5e4f3a2",
      ports: [{ protocol: "TCP", port: 80, nodePort: 30_080 }],
      targets,
      sourceRanges: [cidr("0.0.0.0/0")],
      families: ["IPv4"],
      externalTrafficPolicy: "Cluster",
      settings,
      facts: { id: "7" },
    });
  });

  test("with everything [F26 F32 F35 F36 F45]", () => {
    const wish = describeSpec({
      type: "LoadBalancer",
      ports: [
        { name: "dns", protocol: "UDP", port: 53, nodePort: 30_053, appProtocol: "example.com/dns" },
        { name: "", protocol: "SCTP", port: 54, nodePort: 0 },
        { port: 55 },
      ],
      loadBalancerIP: " 203.0.113.007 ",
      loadBalancerSourceRanges: ["10.0.0.5/24"],
      ipFamilies: ["IPv6", "IPv4"],
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 32_000,
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    });
    expect(wish).toMatchObject({
      ports: [
        { name: "dns", protocol: "UDP", port: 53, nodePort: 30_053, appProtocol: "example.com/dns" },
        { protocol: "SCTP", port: 54 },
        { protocol: "TCP", port: 55 },
      ],
      requestedAddress: ipAddress("203.0.113.7"),
      sourceRanges: [cidr("10.0.0.0/24")],
      families: ["IPv6", "IPv4"],
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 32_000,
      sessionAffinitySeconds: 60,
    });
    expect(wish.ports.map((port) => "nodePort" in port)).toEqual([true, false, false]);
  });

  test("sticky without a time has Kubernetes' three hours", () => {
    expect(describeSpec({ type: "LoadBalancer", sessionAffinity: "ClientIP" }).sessionAffinitySeconds).toBe(
      10_800,
    );
  });

  test("that ends", () => {
    const wish = { service: toService(), settings, facts: {}, targets: [] };
    expect(describeService<typeof fields>({ ...wish, ending: "release" }).ending).toBe("release");
    expect("ending" in describeService<typeof fields>(wish)).toBe(false);
  });

  test("with a wrong annotation keeps what is in the cloud [F47]", () => {
    const wish = describeService<typeof fields>({
      service: toService(),
      settings,
      frozen: new Set(["size"]),
      observed: { size: 5, algorithm: "b" },
      facts: {},
      targets: [],
    });
    expect(wish.settings).toEqual({ size: 5, algorithm: "a" });
  });

  test("names an address that is none, and every wrong range", () => {
    const service = toService({
      spec: { type: "LoadBalancer", loadBalancerIP: "any", loadBalancerSourceRanges: ["x", "y"] },
    });
    const problems = serviceProblems(service);
    expect(problems.map(({ reason }) => reason)).toEqual([
      "InvalidSourceRange",
      "InvalidSourceRange",
      "InvalidAddress",
    ]);
    expect(problems.map(({ text }) => text).join()).toContain('must be an IP address, got "any"');
    expect(serviceProblems(toService())).toEqual([]);
  });

  test("has a name that clouds accept, for every uid", () => {
    fc.assert(
      fc.property(fc.uuid(), (uid) => {
        const name = defaultLoadBalancerName(serviceUID(uid));
        expect(name).toMatch(/^a[0-9a-f]{31}$/);
        expect(`a${uid.replaceAll("-", "")}`.startsWith(name)).toBe(true);
      }),
    );
  });
});

describe("source ranges [F30]", () => {
  const ranges = (spec: Service["spec"]) => sourceRangesOf(toService({ spec })).ranges;

  test("everybody of each family, where none is told", () => {
    expect(ranges({ ipFamilies: ["IPv6"] })).toEqual([cidr("::/0")]);
    expect(ranges({ ipFamilies: ["IPv4", "IPv6"] })).toEqual([cidr("0.0.0.0/0"), cidr("::/0")]);
    expect(ranges({ clusterIPs: ["fd00::1"] })).toEqual([cidr("::/0")]);
    expect(familiesOf(toService({ spec: { clusterIPs: ["None"] } }))).toEqual(["IPv4"]);
  });

  test("a wrong entry never opens to everybody, and all wrong ones are named", () => {
    const { ranges: left, problems } = sourceRangesOf(
      toService({ spec: { loadBalancerSourceRanges: ["10.0.0.0/8", "all", "*"] } }),
    );
    expect(left).toEqual([cidr("10.0.0.0/8")]);
    expect(problems.map(({ text }) => text.slice(-5))).toEqual(['"all"', 't "*"']);
  });

  test("are canonical, once, and only those that were written", () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const range = fc
      .tuple(octet, octet, fc.integer({ min: 0, max: 32 }))
      .map(([a, b, bits]) => `${a}.${b}.0.1/${bits}`);
    fc.assert(
      fc.property(fc.array(range, { minLength: 1 }), (written) => {
        const found = ranges({ loadBalancerSourceRanges: written });
        expect(new Set(found).size).toBe(found.length);
        expect(new Set<string>(found)).toEqual(new Set(written.map((text) => parseCidr(text) ?? "")));
      }),
    );
  });

  test("all families count, where they are named", () => {
    expect(isAllowAll([cidr("0.0.0.0/0")], ["IPv4", "IPv6"])).toBe(false);
    expect(isAllowAll([cidr("::/0")], ["IPv6"])).toBe(true);
  });

  test("the health check is kube-proxy's [F32]", () => {
    const local = { type: "LoadBalancer", externalTrafficPolicy: "Local" };
    const at = (spec: Service["spec"]) => healthCheckPathPort(toService({ spec }));
    expect(at({ ...local, healthCheckNodePort: 32_000 })).toEqual({ path: "/healthz", port: 32_000 });
    expect(at(local)).toBeUndefined();
    expect(at({ ...local, externalTrafficPolicy: "Cluster", healthCheckNodePort: 32_000 })).toBeUndefined();
  });
});

describe("facts [F40]", () => {
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

  test("are read from where the Go manager keeps them", () => {
    const service = toService({
      annotations: { "lb.example/id": "7", "lb.example/name": "no" },
      labels: { "lb.example/name": "web" },
      spec: { loadBalancerIP: "1.2.3.4" },
    });
    expect(readFacts(service, places)).toEqual({ id: "7", name: "web", address: "1.2.3.4" });
    expect(readFacts(toService({ annotations: { "lb.example/id": "" } }), places)).toEqual({});
  });

  test("are guarded by uid, and nothing new is nothing to write", () => {
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

  test("an address that somebody asks for at the same moment is not overwritten", () => {
    const service = toService();
    const patch = factsPatch(service, places, { address: "1.2.3.4" });
    const meanwhile = toService({ spec: { loadBalancerIP: "9.9.9.9" } });
    expect(() => applyJsonPatch(keyOf(meanwhile), keyOf(patch?.body as never))).toThrow();
  });

  test("without a place are kept under our own name rather than lost", () => {
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

  test("labels that hold one are known", () => {
    expect([isFactLabel(places, "lb.example/name"), isFactLabel(places, "lb.example/id")]).toEqual([
      true,
      false,
    ]);
  });

  test("what was written is read, and nothing else is touched", () => {
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

describe("the status", () => {
  const addresses: readonly BalancerAddress[] = [
    { ip: ipAddress("1.2.3.4"), ipMode: "Proxy" },
    { ip: ipAddress("fd00::1") },
    { hostname: "lb.example", ipMode: "Proxy" },
  ];

  test("shows the mode that the provider declares, and only where Kubernetes takes one [F34]", () => {
    expect(ingressOf({ kind: "addresses", addresses }, [{ port: 80 }])).toEqual([
      { ip: "1.2.3.4", ipMode: "Proxy" },
      { ip: "fd00::1" },
      { hostname: "lb.example" },
    ]);
  });

  test("shows ports where the Go manager of that cloud does", () => {
    const publication = { kind: "addresses", addresses: addresses.slice(1, 2) } as const;
    expect(
      ingressOf(publication, [{ port: 80 }, { port: 53, protocol: "UDP" }], { withPorts: true }),
    ).toEqual([
      {
        ip: "fd00::1",
        ports: [
          { port: 80, protocol: "TCP" },
          { port: 53, protocol: "UDP" },
        ],
      },
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

  test("is the same in any order, and with the mode that the server fills in", () => {
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

  test("is another with one entry more or less, or another mode", () => {
    fc.assert(
      fc.property(entries, entry, (list, one) => {
        expect(isSameIngress(list, [...list, one])).toBe(false);
        expect(isSameIngress([{ ...one, ipMode: "Proxy" }], [{ ...one, ipMode: "VIP" }])).toBe(false);
      }),
    );
  });

  test("compares addresses by value", () => {
    expect(isSameIngress([{ ip: "FD00:0::1" }], [{ ip: "fd00::1" }])).toBe(true);
    expect(isSameIngress(undefined, [])).toBe(true);
  });
});
