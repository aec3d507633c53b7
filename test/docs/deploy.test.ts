import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { deployedClouds } from "../../scripts/deploy/clouds.ts";
import { deployFiles } from "../../scripts/deploy/deploy-files.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";

// Checks the manifests in deploy/ as text; test/cluster runs the executable with these permissions.

const pathOf = (path: string): string => resolve(import.meta.dir, "../../deploy", path);
const readManifest = (path: string): string => readFileSync(pathOf(path), "utf8");

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
const rules = parseAllDocuments(readManifest("rbac.yaml")).flatMap(
  (document) => (document.toJS() as { readonly rules?: readonly Rule[] }).rules ?? [],
);

describe("deploy/rbac.yaml", () => {
  test("the roles have no wildcard, and write only Nodes, Services, events, the Lease and reviews [F79]", () => {
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
  test("the roles read no Secret, and delete only Nodes [F79]", () => {
    expect(rules.flatMap(({ resources }) => resources)).not.toContain("secrets");
    expect(rules.flatMap(({ resources, verbs }) => (verbs.includes("delete") ? resources : []))).toEqual([
      "nodes",
    ]);
  });
});

test("every manifest in deploy/ keeps its pods away from Windows Nodes, on which the image cannot run [F98]", () => {
  interface Workload {
    readonly spec?: {
      readonly template?: { readonly spec: Partial<PodSpec> & { readonly nodeSelector?: object } };
    };
  }
  const files = readdirSync(pathOf("."), { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".yaml") && !path.startsWith("chart/templates"),
  );
  const selectors = files.flatMap((path) =>
    parseAllDocuments(readManifest(path))
      // Files of the chart are lists.
      .flatMap((document) => document.toJS() as Workload | readonly Workload[])
      .flatMap((object) => object?.spec?.template?.spec ?? [])
      // The other documents are patches.
      .filter(({ containers = [] }) => containers.some((one) => "image" in one))
      .map(({ nodeSelector }) => [path, nodeSelector]),
  );
  expect(selectors.map(([path]) => path)).toEqual(
    expect.arrayContaining(["daemonset.yaml", "node-volumes.yaml", "chart/files/node-volumes.yaml"]),
  );
  for (const selector of selectors)
    expect(selector).toEqual([expect.any(String), expect.objectContaining({ "kubernetes.io/os": "linux" })]);
  const values = parse(readManifest("chart/values.yaml")) as { readonly nodeSelector: object };
  expect(values.nodeSelector).toMatchObject({ "kubernetes.io/os": "linux" });
});

describe("SECURITY.md", () => {
  const page = readFileSync(resolve(import.meta.dir, "../../SECURITY.md"), "utf8");

  test("SECURITY.md lists exactly the permissions of deploy/rbac.yaml [F79]", () => {
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
  readonly containers: readonly {
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly ports: readonly { readonly containerPort: number }[];
    readonly securityContext: object;
  }[];
}
const staticPod = (): PodSpec => (parse(readManifest("static-pod.yaml")) as { readonly spec: PodSpec }).spec;
const daemonSet = (): PodSpec => {
  const documents = parseAllDocuments(readManifest("daemonset.yaml")).map(
    (document) =>
      document.toJS() as {
        readonly kind: string;
        readonly spec: { readonly template: { readonly spec: PodSpec } };
      },
  );
  const found = documents.find(({ kind }) => kind === "DaemonSet");
  if (found === undefined) throw new Error("daemonset.yaml has no DaemonSet");
  return found.spec.template.spec;
};

describe.each([
  ["static pod", staticPod],
  ["daemon set", daemonSet],
] as const)("the %s", (_, specOf) => {
  test("the pod runs as an unprivileged user, on a read-only root, without capabilities [F80]", () => {
    const { securityContext, containers } = specOf();
    expect(securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(containers.map((each) => each.securityContext)).toEqual([
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    ]);
  });
  test("the pod serves the secure port on the network of the machine [S7]", () => {
    const { hostNetwork, containers } = specOf();
    expect(hostNetwork).toBe(true);
    expect(containers[0]?.ports.map(({ containerPort }) => containerPort)).toEqual([
      readFlags([]).flags["secure-port"],
    ]);
  });
});

test("the static pod reads its kubeconfig and credentials from the mounted folder [S7]", () => {
  const { containers } = staticPod();
  expect(containers[0]?.env).toContainEqual({ name: "CREDENTIALS_DIRECTORY", value: "/etc/fairlead" });
});

test("the daemon set tolerates the taint of uninitialized Nodes [S7]", () => {
  expect(daemonSet().tolerations?.map(({ key }) => key)).toContain(
    "node.cloudprovider.kubernetes.io/uninitialized",
  );
});

test("the Helm chart has every cloud of the repository", () => {
  const folders = readdirSync(resolve(import.meta.dir, "../../providers"));
  // To add a cloud: scripts/deploy/clouds.ts
  expect(deployedClouds.map(({ name }) => name)).toEqual(folders.toSorted());
});

test("the files in deploy/ match the output of the program", () => {
  const stale = Object.entries(deployFiles()).filter(
    ([path, content]) => !existsSync(pathOf(path)) || readFileSync(pathOf(path), "utf8") !== content,
  );
  // To write them: npm run manifests
  expect(stale.map(([path]) => path)).toEqual([]);
});

test("the systemd unit runs as a dynamic user, on a read-only system, without capabilities [N16 F80 F96]", () => {
  const lines = readManifest("systemd/fairlead@.service").split("\n");
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
