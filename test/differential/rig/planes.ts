// The control planes of a run. scripts/differential-tests.ts starts them, with an audit log of all writes to Nodes and Services.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Plane {
  readonly kubeconfig: string;
  /** Path of the audit log. */
  readonly audit: string;
}

export const planesVariable = "FAIRLEAD_DIFFERENTIAL_PLANES";

/** One for each column of a comparison. */
export const planesPerProcess = 3;

/** The control planes of this process, because test files run in several processes. */
export function planes(): readonly Plane[] {
  const text = process.env[planesVariable] ?? "";
  if (text === "") throw new Error("Run these tests with: npm run test:differential");
  const first = (Number(process.env["JEST_WORKER_ID"] ?? 1) - 1) * planesPerProcess;
  return (JSON.parse(text) as readonly Plane[]).slice(first, first + planesPerProcess);
}

const writes = ["create", "update", "patch", "delete"];
const resources = ["nodes", "nodes/status", "services", "services/status"];

/** Flags that make the API server write the audit log. */
export function auditFlags(
  folder: string,
  write: (path: string, content: string) => void,
): readonly string[] {
  const policy = join(folder, "audit-policy.json");
  const rules = [
    { level: "Metadata", verbs: writes, resources: [{ group: "", resources }] },
    { level: "None" },
  ];
  const stages = { omitStages: ["RequestReceived"] };
  write(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", ...stages, rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${auditPath(folder)}`];
}

export const auditPath = (folder: string): string => join(folder, "audit.log");

interface AuditEvent {
  readonly verb: string;
  readonly userAgent?: string;
  /** Absent for paths without an object. */
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
}

/** The user agent of the tests themselves. */
export const testAgent = "fairlead-cluster-test";

/**
 * The writer, such as `fake-cloud-controller-manager/0.1.0 (linux/amd64)`, and the write, such as `patch services/status shop`.
 */
interface Write {
  readonly agent: string;
  readonly what: string;
}

/** The writes of all clients except the tests. */
export const writesOf = (plane: Plane): readonly string[] => writersOf(plane).map(({ what }) => what);

export function writersOf({ audit }: Plane): readonly Write[] {
  const lines = readFileSync(audit, "utf8").split("\n");
  const all = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as AuditEvent);
  return all
    .filter(({ userAgent = "" }) => !userAgent.startsWith(testAgent))
    .flatMap(({ verb, objectRef, userAgent: agent = "" }) => {
      if (objectRef === undefined) return [];
      const { resource, subresource, name } = objectRef;
      const path = subresource === undefined ? resource : `${resource}/${subresource}`;
      return { agent, what: [verb, path, name].join(" ") };
    });
}
