// Which addresses a machine has for its Node: the Go manager's rules as a table.

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
  [
    "without settings, the first address is both internal and external",
    chosen(two),
    "Int 10.0.0.5, Ext 10.0.0.5",
  ],
  [
    "a configured range selects an address",
    chosen(two, { internal: { in: "10.0.0.0/8" }, external: { in: "192.0.2.0/24" } }),
    "Int 10.0.0.5, Ext 192.0.2.5",
  ],
  [
    "ranges apply in their configured order",
    chosen(two, { internal: { in: "192.0.0.0/16 10.0.0.0/8" } }),
    "Int 192.0.2.5",
  ],
  [
    "a setting for only one kind of address omits the other kind",
    chosen(two, { external: { in: "192.0.2.0/24" } }),
    "Ext 192.0.2.5",
  ],
  [
    "a network name applies in upper or lower case",
    chosen(two, { internal: { net: "PRIVATE" }, external: { net: "public" } }),
    "Int 10.0.0.5, Ext 192.0.2.5",
  ],
  [
    "a range takes precedence over a network name",
    chosen(two, { internal: { in: "192.0.2.0/24", net: "Private" } }),
    "Int 192.0.2.5",
  ],
  [
    "a network name applies where no range matches",
    chosen(two, { internal: { in: "172.16.0.0/12", net: "Public" } }),
    "Int 192.0.2.5",
  ],
  [
    "an excluded address is never chosen",
    chosen(two, { internal: { not: "10.0.0.0/8" } }),
    "Int 192.0.2.5, Ext 10.0.0.5",
  ],
  [
    "an exclusion takes precedence over a range",
    chosen(two, { internal: { in: "10.0.0.0/8", not: "10.0.0.5/32" } }),
    "Int 192.0.2.5, Ext 10.0.0.5",
  ],
  [
    "address families have their configured order",
    chosen(two, { families: ["ipv6", "ipv4"] }),
    "Int fd00::5, Ext fd00::5, Int 10.0.0.5, Ext 10.0.0.5",
  ],
  [
    "addresses that only the machine can use are omitted",
    chosen([["a", "127.0.0.1", "169.254.1.1", "fe80::1", "0.0.0.0", "10.0.0.9"]]),
    "Int 10.0.0.9, Ext 10.0.0.9",
  ],
  [
    "interfaces of the guest are omitted",
    chosen([
      ["!cni0", "10.244.0.1"],
      ["a", "10.0.0.9"],
    ]),
    "Int 10.0.0.9, Ext 10.0.0.9",
  ],
  [
    "a value that is not an address is omitted",
    chosen([["a", "x", "10.0.0.9"]]),
    "Int 10.0.0.9, Ext 10.0.0.9",
  ],
  [
    "a machine without a usable address is reported",
    chosen([["a", "127.0.0.1"]]),
    "missing: VMware Tools report no usable IPv4 address",
  ],
  [
    "a missing address family is reported",
    chosen([["a", "10.0.0.9"]], { families: ["ipv4", "ipv6"] }),
    "missing: VMware Tools report no usable IPv6 address",
  ],
  [
    "a machine in neither of two configured networks is reported",
    chosen(two, { internal: { net: "A" }, external: { net: "B" } }),
    'missing: it is in neither of the networks A and B; its networks are "Private", "Public"',
  ],
  [
    "a machine in one of two configured networks is enough",
    chosen(two, { internal: { net: "Private" }, external: { net: "B" } }),
    "Int 10.0.0.5",
  ],
  [
    "a single network that the machine lacks is ignored",
    chosen(two, { internal: { net: "A" } }),
    "Int 10.0.0.5, Ext 10.0.0.5",
  ],
])("chooses the addresses of a machine: %s", (_, actual, expected) => {
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
  ["in an unknown encoding", encode(raw), "gzip+base64", []],
  ["as text that is not YAML", encode("a: b: [\n"), "base64", []],
  ["as a document in another format", encode("network: [1, 2]\n"), "base64", []],
  [
    "compressed without an end",
    encode(`network: ${encode(gzipSync("a".repeat(1_000_000)))}\nnetwork.encoding: gz+b64\n`),
    "base64",
    [],
  ],
  ["in a text that is too long", encode(`${raw}# ${"x".repeat(70_000)}\n`), "base64", []],
  [
    "with invalid addresses",
    encode("network:\n  ethernets:\n    a:\n      addresses: [x, 5, null]\n"),
    "base64",
    [],
  ],
])("reads cloud-init addresses that are written %s", (_, metadata, encoding, result) => {
  expect(staticAddresses(metadata, encoding)).toEqual(result as string[]);
});

test("cloud-init addresses come first, in cloud-init's order, if the machine has them", () => {
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
])("the guest %s gets the name %s, as with the Go manager", (id, name) => {
  expect(guestNameOf(id)).toBe(name);
});
