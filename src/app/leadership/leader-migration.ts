// Leader migration: which controllers run under the Lease that is shared with kube-controller-manager while they move out of
// it. Parses a LeaderMigrationConfiguration strictly.

import type { PlacedProblem } from "../../config-file/located.ts";
import { parseDocument } from "../../config-file/parse-plain-yaml.ts";
import { readValue } from "../../config-file/read-value.ts";
import { runtimeCodeOf } from "../../core/error-message.ts";
import { oneOf, text } from "../../core/fields.ts";
import type { Problem } from "../../core/problem.ts";
import { records } from "../../core/record-fields.ts";
import type { Files } from "../../platform/files.ts";
import { type ControllerName, controllerNamed } from "../flags/controller-names.ts";
import type { Flags } from "../flags/flag-table.ts";

/** Under which Lease the controller runs: the main Lease, the shared Lease, or the Lease of another component. */
export type LeasePlace = "main" | "migrated" | "elsewhere";

export interface LeaderMigration {
  readonly leaderName: string;
  /** The controllers in the leader migration configuration. */
  readonly controllerLeaders: readonly ControllerLeader[];
  readonly placeOf: (controller: ControllerName) => LeasePlace;
}

export interface ControllerLeader {
  readonly name: string;
  readonly component: string;
}

export interface MigrationConfiguration {
  readonly leaderName: string;
  readonly controllerLeaders: readonly ControllerLeader[];
}

export interface ParsedMigration {
  /** Undefined if there are problems. */
  readonly migration?: MigrationConfiguration;
  readonly problems: readonly Problem[];
}

/** Upstream's default. */
export const defaultMigration: MigrationConfiguration = {
  leaderName: "cloud-provider-extraction-migration",
  controllerLeaders: ["route-controller", "service-controller", "cloud-node-lifecycle-controller"].map(
    (name): ControllerLeader => ({ name, component: "*" }),
  ),
};

export function createMigration(
  { leaderName, controllerLeaders }: MigrationConfiguration,
  component = "cloud-controller-manager",
): LeaderMigration {
  const places = new Map<ControllerName, LeasePlace>();
  for (const leader of controllerLeaders) {
    // Compares all names of a controller. Upstream compares only current names, so two of the three names in its default
    // match nothing.
    const name = controllerNamed(leader.name);
    if (name === undefined) continue;
    places.set(name, leader.component === component || leader.component === "*" ? "migrated" : "elsewhere");
  }
  return { leaderName, controllerLeaders, placeOf: (controller) => places.get(controller) ?? "main" };
}

const group = "controllermanager.config.k8s.io";

/** The file is read as a list with one entry, so that it is checked like every other setting. */
const file = records("The configuration.", {
  apiVersion: oneOf("Version.", [`${group}/v1`, `${group}/v1beta1`, `${group}/v1alpha1`], { required: true }),
  kind: oneOf("Kind.", ["LeaderMigrationConfiguration"], { required: true }),
  leaderName: text("Name of the shared Lease.", { required: true }),
  // Kubernetes has removed all other lock types.
  resourceLock: oneOf("Type of the lock.", ["leases"], { fallback: "leases" }),
  controllerLeaders: records(
    "Which component runs each controller.",
    {
      name: text("Name of the controller.", { required: true }),
      component: text("The component, or * for all.", { required: true }),
    },
    { fallback: [] },
  ),
});

function problem(why: string): Problem {
  const key = "--leader-migration-config";
  const text = `${key}: ${why.replaceAll("file[0].", "")}`;
  return { severity: "error", reason: "InvalidLeaderMigration", key, text };
}

const placed = ({ text: why, place: { line, column } }: PlacedProblem): Problem =>
  problem(`line ${line}, column ${column}: ${why}`);

/** Strict: duplicate and unknown fields are errors. */
export async function readMigrationText(source: string): Promise<ParsedMigration> {
  const { root, problems: ofText } = await parseDocument(source);
  if (ofText.length > 0) return { problems: ofText.map(placed) };
  const entries = root?.kind === "map" ? [root] : [];
  const list = { kind: "list", place: { line: 1, column: 1 }, entries } as const;
  const { raw = "", problems: ofValues } = readValue("file", file, list, "setting");
  // A value of the wrong type would otherwise be reported as missing.
  if (ofValues.length > 0) return { problems: ofValues.map(placed) };
  const parsed = file.parse(raw, { key: "file", what: "setting" });
  const [read] = "value" in parsed ? parsed.value : [];
  if (read === undefined) return { problems: [problem("the file must contain one object")] };
  const problems = "problems" in parsed ? parsed.problems : [];
  if (problems.length > 0) return { problems: problems.map(({ text: why }) => problem(why)) };
  const { leaderName, controllerLeaders } = read;
  return { migration: { leaderName, controllerLeaders }, problems };
}

/** As in upstream, leader migration requires leader election. */
export async function readMigrationOf(
  flags: Pick<Flags, "leader-elect" | "enable-leader-migration" | "leader-migration-config">,
  files: Pick<Files, "read">,
): Promise<{ readonly migration?: LeaderMigration; readonly problems: readonly Problem[] }> {
  if (!flags["leader-elect"] || !flags["enable-leader-migration"]) return { problems: [] };
  const path = flags["leader-migration-config"];
  if (path === undefined) return { migration: createMigration(defaultMigration), problems: [] };
  let source: string;
  try {
    source = await files.read(path);
  } catch (error) {
    const code = runtimeCodeOf(error) || "unknown error";
    const why = `cannot read ${path} (${code}); check that the file exists and that this process may read it`;
    return { problems: [problem(why)] };
  }
  const { migration, problems } = await readMigrationText(source);
  return migration === undefined ? { problems } : { migration: createMigration(migration), problems };
}
