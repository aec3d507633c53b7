// Which addresses a machine has for its Node: the rules of the Go manager as a table.

import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type AddressRules, addressesOf } from "../../../providers/vsphere/addresses.ts";
import { guestNameOf } from "../../../providers/vsphere/guest-os.ts";
import type { VirtualMachine } from "../../../providers/vsphere/machine.ts";
import { staticAddresses } from "../../../providers/vsphere/static-addresses.ts";
import { canonical, orders, swapped } from "../../../providers/vsphere/uuids.ts";
import { parseCidr } from "../../../src/core/cidr.ts";

type Nics = readonly (readonly [network: string, ...addresses: string[]])[];

interface Rule {
  readonly in?: string;
  readonly not?: string;
  readonly net?: string;
}

const cidrs = (text = "") => text.split(" ").flatMap((range) => parseCidr(range) ?? []);
const ruleOf = ({ in: ranges, not, net }: Rule = {}) => ({
  ranges: cidrs(ranges),
  excluded: cidrs(not),
  network: net,
});

const machineOf = (nics: Nics, metadata?: string): VirtualMachine =>
  ({
    nics: nics.map(([network, ...addresses]) => ({
      network: network.replace("!", ""),
      isDevice: !network.startsWith("!"),
      addresses,
    })),
    metadata,
    metadataEncoding: "base64",
  }) as unknown as VirtualMachine;

function chosen(
  nics: Nics,
  rules: {
    readonly internal?: Rule;
    readonly external?: Rule;
    readonly families?: AddressRules["families"];
  } = {},
  metadata?: string,
): string {
  const { internal, external, families = ["ipv4"] } = rules;
  const all = addressesOf(machineOf(nics, metadata), {
    internal: ruleOf(internal),
    external: ruleOf(external),
    families,
  });
  if ("missing" in all) return `missing: ${all.missing}`;
  return all.addresses.map(({ kind, value }) => `${kind.slice(0, 3)} ${value}`).join(", ");
}

const two: Nics = [
  ["Private", "10.0.0.5", "fd00::5"],
  ["Public", "192.0.2.5", "2001:db8::5"],
];

test.each<readonly [string, string, string]>([
  ["the first address is both", chosen(two), "Int 10.0.0.5, Ext 10.0.0.5"],
  [
    "a range chooses",
    chosen(two, { internal: { in: "10.0.0.0/8" }, external: { in: "192.0.2.0/24" } }),
    "Int 10.0.0.5, Ext 192.0.2.5",
  ],
  [
    "ranges count in their order",
    chosen(two, { internal: { in: "192.0.0.0/16 10.0.0.0/8" } }),
    "Int 192.0.2.5",
  ],
  [
    "only one of the two is left out alone",
    chosen(two, { external: { in: "192.0.2.0/24" } }),
    "Ext 192.0.2.5",
  ],
  [
    "a name chooses in any case",
    chosen(two, { internal: { net: "PRIVATE" }, external: { net: "public" } }),
    "Int 10.0.0.5, Ext 192.0.2.5",
  ],
  [
    "a range precedes a name",
    chosen(two, { internal: { in: "192.0.2.0/24", net: "Private" } }),
    "Int 192.0.2.5",
  ],
  [
    "a name counts where no range matches",
    chosen(two, { internal: { in: "172.16.0.0/12", net: "Public" } }),
    "Int 192.0.2.5",
  ],
  [
    "an excluded address is never chosen",
    chosen(two, { internal: { not: "10.0.0.0/8" } }),
    "Int 192.0.2.5, Ext 10.0.0.5",
  ],
  [
    "an exclusion precedes a range",
    chosen(two, { internal: { in: "10.0.0.0/8", not: "10.0.0.5/32" } }),
    "Int 192.0.2.5, Ext 10.0.0.5",
  ],
  [
    "families come in their order",
    chosen(two, { families: ["ipv6", "ipv4"] }),
    "Int fd00::5, Ext fd00::5, Int 10.0.0.5, Ext 10.0.0.5",
  ],
  [
    "what only the machine can use is left out",
    chosen([["a", "127.0.0.1", "169.254.1.1", "fe80::1", "0.0.0.0", "10.0.0.9"]]),
    "Int 10.0.0.9, Ext 10.0.0.9",
  ],
  [
    "interfaces of the guest are left out",
    chosen([
      ["!cni0", "10.244.0.1"],
      ["a", "10.0.0.9"],
    ]),
    "Int 10.0.0.9, Ext 10.0.0.9",
  ],
  ["what is no address is left out", chosen([["a", "x", "10.0.0.9"]]), "Int 10.0.0.9, Ext 10.0.0.9"],
  ["none is missing", chosen([["a", "127.0.0.1"]]), "missing: VMware Tools report no usable IPv4 address"],
  [
    "a missing family is missing",
    chosen([["a", "10.0.0.9"]], { families: ["ipv4", "ipv6"] }),
    "missing: VMware Tools report no usable IPv6 address",
  ],
  [
    "neither of two networks is missing",
    chosen(two, { internal: { net: "A" }, external: { net: "B" } }),
    'missing: it is in neither of the networks A and B; its networks are "Private", "Public"',
  ],
  [
    "one of two networks is enough",
    chosen(two, { internal: { net: "Private" }, external: { net: "B" } }),
    "Int 10.0.0.5",
  ],
  [
    "one network that is missing counts for nothing",
    chosen(two, { internal: { net: "A" } }),
    "Int 10.0.0.5, Ext 10.0.0.5",
  ],
])("%s", (_, actual, expected) => {
  expect(actual).toBe(expected);
});

const encode = (text: string | Uint8Array) => Buffer.from(text).toString("base64");
const network =
  "version: 2\nethernets:\n  a:\n    addresses: [10.0.0.6/24, 'fd00::6/64']\n  b:\n    addresses:\n      - 192.0.2.6/24\n";
const raw = `instance-id: x\nnetwork:\n${network.replaceAll(/^/gm, "  ")}`;
const expected = ["10.0.0.6", "fd00::6", "192.0.2.6"];

test.each<readonly [string, string | undefined, string | undefined, readonly string[]]>([
  ["as a part of the metadata", encode(raw), "base64", expected],
  ["in base64", encode(`network: ${encode(network)}\nnetwork.encoding: b64\n`), "base64", expected],
  [
    "compressed",
    encode(`network: ${encode(gzipSync(network))}\nnetwork.encoding: gzip+base64\n`),
    "base64",
    expected,
  ],
  ["not at all", undefined, undefined, []],
  ["in another encoding", encode(raw), "gzip+base64", []],
  ["as text that is no YAML", encode("a: b: [\n"), "base64", []],
  ["as a document of another form", encode("network: [1, 2]\n"), "base64", []],
  [
    "compressed without end",
    encode(`network: ${encode(gzipSync("a".repeat(1_000_000)))}\nnetwork.encoding: gz+b64\n`),
    "base64",
    [],
  ],
  ["in too long a text", encode(`${raw}# ${"x".repeat(70_000)}\n`), "base64", []],
  [
    "with addresses that are none",
    encode("network:\n  ethernets:\n    a:\n      addresses: [x, 5, null]\n"),
    "base64",
    [],
  ],
])("reads the addresses of cloud-init that are written %s", (_, metadata, encoding, result) => {
  expect(staticAddresses(metadata, encoding)).toEqual(result as string[]);
});

test("addresses of cloud-init come first, in its order, if the machine has them", () => {
  const nics: Nics = [["a", "10.0.0.5", "192.0.2.6", "10.0.0.6"]];
  expect(chosen(nics, {}, encode(raw))).toBe("Int 10.0.0.6, Ext 10.0.0.6");
  expect(chosen(nics)).toBe("Int 10.0.0.5, Ext 10.0.0.5");
});

test("both byte orders of a UUID have one canonical form", () => {
  const [vmware, kernel] = ["422e4956-ad22-1139-6d72-59cc8f26bc90", "56492e42-22ad-3911-6d72-59cc8f26bc90"];
  expect([swapped(vmware), swapped(kernel)]).toEqual([kernel, vmware]);
  expect(canonical(vmware)).toBe(canonical(kernel));
  expect([orders(vmware)[0], orders(kernel)[0]]).toEqual([vmware, vmware]);
});

test.each([
  ["ubuntu64Guest", "ubuntu"],
  ["vmwarePhoton64Guest", "photon"],
  ["windows9Server64Guest", "win10server"],
  ["rhel7_64Guest", "rhel7"],
  ["rhel9_64Guest", "unknown"],
  ["otherGuest64", "other"],
  ["centos64Guest", "centos64"],
  [undefined, "unknown"],
])("the guest %s is named %s, as by the Go manager", (id, name) => {
  expect(guestNameOf(id)).toBe(name);
});
