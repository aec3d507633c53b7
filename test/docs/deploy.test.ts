import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse, parseAllDocuments } from "yaml";

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
    const told = [...page.matchAll(/^\| ([a-z/]+) \| ([a-z, ]+) \|/gm)].map(
      ([, resource = "", verbs = ""]) => [resource, verbs.split(", ").toSorted()],
    );
    expect(Object.fromEntries(told)).toEqual(given);
  });
});

test("the static pod runs as nobody in particular, on a read-only root, without capabilities [F80]", () => {
  const { spec } = parse(shipped("static-pod.yaml")) as {
    readonly spec: {
      readonly securityContext: object;
      readonly containers: readonly { readonly securityContext: object }[];
    };
  };
  expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 });
  expect(spec.containers.map(({ securityContext }) => securityContext)).toEqual([
    { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
  ]);
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
