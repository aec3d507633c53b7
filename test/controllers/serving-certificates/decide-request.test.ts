import { describe, expect, test } from "bun:test";
import {
  decideNames,
  isPending,
  type RequestContent,
  wrongRequest,
} from "../../../src/controllers/serving-certificates/plan.ts";
import type { CertificateSigningRequest, Node } from "../../../src/kube/objects.ts";
import type { Instance } from "../../../src/provider/instances.ts";

const username = "system:node:worker-1";
const spec = {
  username,
  groups: ["system:nodes", "system:authenticated"],
  usages: ["digital signature", "server auth"],
  signerName: "kubernetes.io/kubelet-serving",
  request: "",
};
const requestWith = (changes: Partial<typeof spec> = {}): CertificateSigningRequest => ({
  metadata: { name: "csr-1", uid: "u", resourceVersion: "1" },
  spec: { ...spec, ...changes },
});
type Content = Exclude<RequestContent, { readonly malformed: string }>;
const content = (changes: Partial<Content> = {}): Content => ({
  commonNames: [username],
  organizations: ["system:nodes"],
  dnsNames: ["worker-1"],
  addresses: ["10.0.0.7"],
  others: [],
  ...changes,
});

describe("a request", () => {
  test.each([[[]], [["key encipherment"]]])(
    "a request with the signer's usages and %j is valid [F83]",
    (more) => {
      const usages = [...spec.usages, ...more];
      expect(wrongRequest(requestWith({ usages }), content())).toBeUndefined();
    },
  );

  test.each([
    ["a user that is not a kubelet", { username: "admin" }, {}, "got admin"],
    ["a kubelet without a name", { username: "system:node:" }, {}, "got system:node:"],
    ["a user outside the group", { groups: ["system:authenticated"] }, {}, "in the group system:nodes"],
    ["a different common name", {}, { commonNames: ["system:node:worker-2"] }, "got system:node:worker-2"],
    ["two common names", {}, { commonNames: [username, username] }, "must be the user system:node:worker-1"],
    ["no organization", {}, { organizations: [] }, "organization must be system:nodes, got none"],
    [
      "two organizations",
      {},
      { organizations: ["system:nodes", "system:masters"] },
      "got system:nodes, system:masters",
    ],
    ["usages without server auth", { usages: ["digital signature"] }, {}, "got digital signature"],
    ["usages of a client", { usages: [...spec.usages, "client auth"] }, {}, "server auth, client auth"],
    ["another extension", {}, { others: ["extension 2.5.29.19"] }, "extension 2.5.29.19"],
    ["no names", {}, { dnsNames: [], addresses: [] }, "neither a DNS name nor an IP address"],
  ] as const)("a request with %s is invalid [F83]", (_, ofSpec, ofContent, why) => {
    expect(wrongRequest(requestWith(ofSpec as Partial<typeof spec>), content(ofContent))).toContain(why);
  });

  test("a malformed request is invalid [F83]", () => {
    expect(wrongRequest(requestWith(), { malformed: "an element is truncated" })).toBe(
      "The request is malformed: an element is truncated.",
    );
  });

  test.each([
    ["a certificate", { certificate: "x" }, {}],
    ["a decision", { conditions: [{ type: "Denied", status: "True" }] }, {}],
    ["another signer", {}, { signerName: "kubernetes.io/kube-apiserver-client-kubelet" }],
  ])("a request with %s is not pending", (_, status, ofSpec) => {
    expect(isPending({ ...requestWith(ofSpec), status } as CertificateSigningRequest)).toBe(false);
    expect(isPending(requestWith())).toBe(true);
  });
});

const node = {
  metadata: { name: "worker-1", uid: "n", resourceVersion: "1" },
  spec: { providerID: "fake://7" },
  status: {
    addresses: [
      { type: "InternalIP", address: "10.0.0.7" },
      { type: "InternalIP", address: "192.168.0.7" },
    ],
  },
} as Node;
const instance: Instance = {
  key: "7",
  id: "fake://7" as Instance["id"],
  names: ["worker-1", "worker-1.example.com"],
  title: "worker-1 (7)",
  addresses: [
    { kind: "InternalIP", value: "10.0.0.7" },
    { kind: "ExternalIP", value: "2001:DB8::7" },
    { kind: "InternalDNS", value: "ip-7.internal" },
  ],
  type: "small",
};
const decide = (asked: Partial<Content>, changes: Partial<Instance> = {}, sharedWith?: string) =>
  decideNames(content({ dnsNames: [], addresses: [], ...asked }), {
    node,
    instance: { ...instance, ...changes },
    sharedWith,
  });

describe("the names and addresses of a request", () => {
  test.each([
    ["the name of the Node in capitals", { dnsNames: ["WORKER-1"] }],
    ["all names of the instance", { dnsNames: ["worker-1.example.com.", "ip-7.internal"] }],
    ["an IPv6 address in a different spelling", { addresses: ["2001:db8:0::7", "10.0.0.7"] }],
  ])("approves the names and addresses of a request with %s [F83]", (_, asked) => {
    expect(decide(asked)).toMatchObject({ kind: "approve" });
  });

  test.each([
    ["a name that only resembles the name of the Node", { dnsNames: ["worker-1.example.com.attacker.net"] }],
    ["a wildcard", { dnsNames: ["*.example.com"] }],
    ["an address that only the Node object has", { addresses: ["192.168.0.7"] }],
    ["a foreign address among valid addresses", { addresses: ["10.0.0.7", "10.0.0.8"] }],
  ])(
    "denies the names and addresses of a request with %s, and lists the instance's names and addresses [F83]",
    (_, asked) => {
      const decision = decide(asked);
      expect(decision.kind).toBe("deny");
      expect(decision.message).toContain("The instance worker-1 (7) does not have ");
      expect(decision.message).toContain("the addresses 10.0.0.7, 2001:DB8::7");
    },
  );

  test("a request with an address of a private network that the cloud does not know stays pending [F83]", () => {
    const unproved = { keepsInternalIPs: ["IPv4"] } as const;
    expect(decide({ addresses: ["192.168.0.7"] }, unproved)).toMatchObject({ kind: "wait" });
    // Not even the Node object contains this address.
    expect(decide({ addresses: ["192.168.0.8"] }, unproved)).toMatchObject({ kind: "deny" });
  });

  test.each([
    ["a different name than the Node", { names: ["api-server"] }],
    ["only another short name", { names: [], shortName: "worker" }],
    ["no name", { names: [] }],
  ])("a request stays pending if the instance has %s [F83]", (_, changes) => {
    const decision = decide({ addresses: ["10.0.0.7"] }, changes);
    expect(decision).toMatchObject({ kind: "wait" });
    expect(decision.message).toContain("does not have the name of the Node worker-1");
  });

  test("approves a request if the name of the Node is a host name among the addresses [F83]", () => {
    const addresses = [...instance.addresses, { kind: "Hostname", value: "Worker-1" } as const];
    expect(decide({ dnsNames: ["worker-1"] }, { names: [], addresses })).toMatchObject({ kind: "approve" });
  });

  test("a request stays pending if two Nodes have the same provider ID [F83]", () => {
    expect(decide({ dnsNames: ["worker-1"] }, {}, "thief")).toMatchObject({
      kind: "wait",
      message: expect.stringContaining("The Nodes worker-1 and thief have the same provider ID fake://7"),
    });
  });
});
