import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { ipAddress } from "../../src/core/ip.ts";

// What is shipped for operators, looked at as text; test/cluster runs the executable with these rights.

const shipped = (path: string): string =>
  readFileSync(resolve(import.meta.dir, "../../deploy", path), "utf8");

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
const rules = parseAllDocuments(shipped("rbac.yaml")).flatMap(
  (document) => (document.toJS() as { readonly rules?: readonly Rule[] }).rules ?? [],
);

describe("deploy/rbac.yaml", () => {
  test("has no wildcard, and writes nothing but Nodes, Services, events, the Lease and reviews [F79]", () => {
    expect(rules.flatMap((rule) => [...rule.apiGroups, ...rule.resources, ...rule.verbs])).not.toContain("*");
    const writes = ["create", "update", "patch", "delete"];
    const written = rules.flatMap(({ resources, verbs }) =>
      verbs.some((verb) => writes.includes(verb)) ? resources : [],
    );
    expect([...new Set(written)].toSorted()).toEqual([
      "events",
      "leases",
      "nodes",
      "nodes/status",
      "services",
      "services/status",
      "subjectaccessreviews",
      "tokenreviews",
    ]);
  });
  test("reads no Secret, and deletes nothing but Nodes [F79]", () => {
    expect(rules.flatMap(({ resources }) => resources)).not.toContain("secrets");
    expect(rules.flatMap(({ resources, verbs }) => (verbs.includes("delete") ? resources : []))).toEqual([
      "nodes",
    ]);
  });
});

describe("SECURITY.md", () => {
  const page = readFileSync(resolve(import.meta.dir, "../../SECURITY.md"), "utf8");

  test("names every right of deploy/rbac.yaml, and no other [F79]", () => {
    const given: Record<string, string[]> = {};
    for (const { resources, verbs } of rules)
      for (const resource of resources)
        given[resource] = [...new Set([...(given[resource] ?? []), ...verbs])].toSorted();
    const reported = [...page.matchAll(/^\| ([a-z/]+) \| ([a-z, ]+) \|/gm)].map(
      ([, resource = "", verbs = ""]) => [resource, verbs.split(", ").toSorted()],
    );
    expect(Object.fromEntries(reported)).toEqual(given);
  });
});

interface PodSpec {
  readonly securityContext: object;
  readonly hostNetwork: boolean;
  readonly tolerations?: readonly { readonly key: string }[];
  readonly containers: readonly { readonly command: readonly string[]; readonly securityContext: object }[];
}
const staticPod = (): PodSpec => (parse(shipped("static-pod.yaml")) as { readonly spec: PodSpec }).spec;
const daemonSet = (): PodSpec =>
  (parse(shipped("daemonset.yaml")) as { readonly spec: { readonly template: { readonly spec: PodSpec } } })
    .spec.template.spec;

describe.each([
  ["static pod", staticPod],
  ["daemon set", daemonSet],
] as const)("the %s", (_, specOf) => {
  test("runs as nobody in particular, on a read-only root, without capabilities [F80]", () => {
    const { securityContext, containers } = specOf();
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 });
    expect(containers.map((each) => each.securityContext)).toEqual([
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    ]);
  });
  test("gives flags that there are, and listens where only the machine's own kubelet comes [S7]", () => {
    const flags = specOf().containers[0]?.command.slice(1) ?? [];
    expect(readFlags(flags).problems).toEqual([]);
    expect(readFlags(flags).flags["bind-address"]).toEqual(ipAddress("127.0.0.1"));
    expect(specOf().hostNetwork).toBe(true);
  });
});

test("the daemon set is scheduled on a Node that waits to be initialised [S7]", () => {
  expect(daemonSet().tolerations?.map(({ key }) => key)).toContain(
    "node.cloudprovider.kubernetes.io/uninitialized",
  );
});

test("the unit runs as a user made for it, on a read-only system, without capabilities [N16 F80 F96]", () => {
  const lines = shipped("systemd/fairlead@.service").split("\n");
  for (const line of [
    "Type=notify",
    "DynamicUser=yes",
    "ProtectSystem=strict",
    "CapabilityBoundingSet=",
    "NoNewPrivileges=yes",
    "RestartPreventExitStatus=2",
  ])
    expect(lines).toContain(line);
  expect(lines.some((line) => line.startsWith("LoadCredential=kubeconfig:"))).toBe(true);
});
