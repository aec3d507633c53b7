import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sourceRangesOf } from "../../../../src/controllers/service/annotations/source-ranges.ts";
import {
  defaultLoadBalancerName,
  serviceProblems,
  toDesired,
} from "../../../../src/controllers/service/desired/to-desired.ts";
import { familiesOf, healthCheckPathPort } from "../../../../src/controllers/service/predicates.ts";
import { serviceUID } from "../../../../src/core/brand.ts";
import { cidr, parseCidr } from "../../../../src/core/cidr.ts";
import { integer, oneOf } from "../../../../src/core/fields.ts";
import { ipAddress } from "../../../../src/core/ip.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import { toService, toTarget } from "../service-draft.ts";

const fields = {
  size: integer("Its size.", { min: 1 }, { fallback: 1 }),
  algorithm: oneOf("How.", ["a", "b"], { fallback: "a" }),
};
const settings = { size: 1, algorithm: "a" } as const;
const rangesIn = (service: Service) => {
  const { isSpecified, ranges } = sourceRangesOf(service);
  return isSpecified ? ranges : undefined;
};
const describeSpec = (spec: Service["spec"]) => {
  const service = toService({ spec });
  return toDesired<typeof fields>({
    service,
    settings,
    facts: {},
    targets: [],
    sourceRanges: rangesIn(service),
  });
};

describe("toDesired", () => {
  test("returns the desired load balancer of a minimal Service", () => {
    const uid = "8b7a5b3c-1f2e-4d3c-9a8b-7c6d5e4f3a2b";
    const targets = [toTarget("n")];
    const service = toService({ uid });
    const sourceRanges = rangesIn(service);
    const desired = toDesired<typeof fields>({
      service,
      settings,
      facts: { id: "7" },
      targets,
      sourceRanges,
    });
    expect(desired).toEqual({
      owner: { uid: serviceUID(uid), namespace: "default", name: "web" },
      defaultName: "a8b7a5b3c1f2e4d3c9a8b7c6d5e4f3a2",
      ports: [{ protocol: "TCP", port: 80, nodePort: 30_080 }],
      targets,
      sourceRanges: undefined,
      families: ["IPv4"],
      externalTrafficPolicy: "Cluster",
      settings,
      facts: { id: "7" },
    });
  });

  test("returns every field of a full Service", () => {
    const desired = describeSpec({
      type: "LoadBalancer",
      ports: [
        { name: "dns", protocol: "UDP", port: 53, nodePort: 30_053 },
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
    expect(desired).toMatchObject({
      ports: [
        { name: "dns", protocol: "UDP", port: 53, nodePort: 30_053 },
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
    expect(desired.ports.map((port) => "nodePort" in port)).toEqual([true, false, false]);
  });

  test("uses Kubernetes' three hours for session affinity without a time", () => {
    expect(describeSpec({ type: "LoadBalancer", sessionAffinity: "ClientIP" }).sessionAffinitySeconds).toBe(
      10_800,
    );
  });

  test.each([
    ["no range", undefined, undefined],
    ["an empty list", [], undefined],
    ["0.0.0.0/0", ["0.0.0.0/0"], [cidr("0.0.0.0/0")]],
  ])(
    "reports whether the Service specifies source ranges, for %s",
    (_, loadBalancerSourceRanges, expected) => {
      const spec = { type: "LoadBalancer", ...(loadBalancerSourceRanges && { loadBalancerSourceRanges }) };
      expect(describeSpec(spec as Service["spec"]).sourceRanges).toEqual(expected as never);
    },
  );

  test("sets the ending only for a load balancer that ends", () => {
    const desired = { service: toService(), settings, facts: {}, targets: [], sourceRanges: [] };
    expect(toDesired<typeof fields>({ ...desired, ending: "release" }).ending).toBe("release");
    expect("ending" in toDesired<typeof fields>(desired)).toBe(false);
  });

  test("serviceProblems reports an invalid address and every invalid range", () => {
    const service = toService({
      spec: { type: "LoadBalancer", loadBalancerIP: "any", loadBalancerSourceRanges: ["x", "y"] },
    });
    const problems = serviceProblems(service, sourceRangesOf(service));
    expect(problems.map(({ reason }) => reason)).toEqual([
      "InvalidSourceRange",
      "InvalidSourceRange",
      "InvalidAddress",
    ]);
    expect(problems.map(({ text }) => text).join()).toContain('must be an IP address, got "any"');
    expect(serviceProblems(toService(), sourceRangesOf(toService()))).toEqual([]);
  });

  test("derives a default name that clouds accept, for every uid", () => {
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

  test("source ranges are all addresses of each family if a Service specifies no source ranges", () => {
    expect(ranges({ ipFamilies: ["IPv6"] })).toEqual([cidr("::/0")]);
    expect(ranges({ ipFamilies: ["IPv4", "IPv6"] })).toEqual([cidr("0.0.0.0/0"), cidr("::/0")]);
    expect(ranges({ clusterIPs: ["fd00::1"] })).toEqual([cidr("::/0")]);
    expect(familiesOf(toService({ spec: { clusterIPs: ["None"] } }))).toEqual(["IPv4"]);
  });

  test("source ranges omit invalid entries, report all of them, and never fall back to all addresses", () => {
    const { ranges: left, problems } = sourceRangesOf(
      toService({ spec: { loadBalancerSourceRanges: ["10.0.0.0/8", "all", "*"] } }),
    );
    expect(left).toEqual([cidr("10.0.0.0/8")]);
    expect(problems.map(({ text }) => text.slice(-5))).toEqual(['"all"', 't "*"']);
  });

  test("source ranges are canonical, unique, and in the order of the Service", () => {
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

  test("the health check path and port are kube-proxy's", () => {
    const local = { type: "LoadBalancer", externalTrafficPolicy: "Local" };
    const at = (spec: Service["spec"]) => healthCheckPathPort(toService({ spec }));
    expect(at({ ...local, healthCheckNodePort: 32_000 })).toEqual({ path: "/healthz", port: 32_000 });
    expect(at(local)).toBeUndefined();
    expect(at({ ...local, externalTrafficPolicy: "Cluster", healthCheckNodePort: 32_000 })).toBeUndefined();
  });
});
