import { describe, expect, test } from "bun:test";
import { planNode } from "../../../src/controllers/node/plan.ts";
import { type AddressPolicy, nodeDefaults } from "../../../src/controllers/node/settings.ts";
import { cidr } from "../../../src/core/cidr.ts";
import type { Instance } from "../../../src/provider/instances.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { machine } from "../../support/scripted-source.ts";
import { external, internal, short } from "./address-draft.ts";

const addresses = [external("203.0.113.1"), external("2001:db8::1")];
const both = ["IPv4", "IPv6"] as const;

function plan(
  present: readonly string[],
  instance: Partial<Instance>,
  policy: Partial<AddressPolicy> = {},
  annotations: Readonly<Record<string, string>> = {},
) {
  const status = { addresses: present.map((address) => ({ type: "InternalIP", address })) };
  return planNode({
    node: toNode({ name: "n", annotations, status }),
    instance: machine("n", { addresses, ...instance }),
    ownPrefixes: [],
    settings: { ...nodeDefaults, addresses: { ...nodeDefaults.addresses, ...policy } },
  });
}

describe("InternalIPs that the kubelet reported", () => {
  test("removes the kubelet's InternalIPs unless the instance keeps them", () => {
    const { addresses: written, problems } = plan(["10.0.0.1"], {});
    expect(short(written)).toEqual(["E 203.0.113.1", "E 2001:db8::1"]);
    expect(problems).toEqual([]);
  });

  test("keeps the kubelet's InternalIPs after the cloud's addresses, without duplicates", () => {
    const instance = { addresses: [...addresses, internal("fd00::1")], keepsInternalIPs: both };
    const { addresses: written, problems } = plan(["10.0.0.1", "fd00:0::1"], instance);
    expect(short(written)).toEqual(["E 203.0.113.1", "E 2001:db8::1", "I fd00::1", "I 10.0.0.1"]);
    expect(problems).toEqual([]);
  });

  test("keeps the kubelet's InternalIPs if the cloud has no address", () => {
    const { addresses: written } = plan(["10.0.0.1"], { addresses: [], keepsInternalIPs: both });
    // Nothing changes, so nothing is written.
    expect(written).toBeUndefined();
  });

  test.each([
    ["of a different family", "fd00::1", ["IPv4"], "only IPv4 addresses are kept for this instance"],
    ["that the cloud reports as external", "203.0.113.1", both, "the cloud reports it as an ExternalIP"],
    ["without a family to keep", "10.0.0.1", [], "only the cloud's addresses are kept for this instance"],
  ] as const)("omits InternalIPs that are %s, with a warning", (_, address, keepsInternalIPs, why) => {
    const { addresses: written, problems } = plan([address], { keepsInternalIPs });
    expect(short(written)).toEqual(["E 203.0.113.1", "E 2001:db8::1"]);
    expect(problems).toEqual([
      {
        severity: "warning",
        reason: "MisconfiguredInternalIP",
        text: `The Node loses its InternalIP ${address}, because ${why}.`,
        remedy: "Correct --node-ip on the kubelet, or the address family in the cloud settings.",
      },
    ]);
  });

  test("kept InternalIPs obey the address policy, and satisfy --node-ip", () => {
    const exclude = { exclude: [cidr("10.9.0.0/16")] };
    const annotations = { "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" };
    const instance = { keepsInternalIPs: both };
    const { addresses: written, problems } = plan(["10.9.0.1", "10.0.0.1"], instance, exclude, annotations);
    expect(short(written)).toEqual(["I 10.0.0.1", "E 203.0.113.1", "E 2001:db8::1"]);
    expect(problems).toEqual([]);
  });
});
