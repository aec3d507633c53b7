// Leader migration: which controllers run under the Lease that is shared with kube-controller-manager while they move out of
// it. Parses a LeaderMigrationConfiguration strictly.

import { codeOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { Files } from "../../platform/files.ts";
import { type ControllerName, controllerNamed } from "../flags/controller-names.ts";
import type { Flags } from "../flags/flag-table.ts";

/** Runs under the main Lease, under the shared Lease, or in another component. */
export type Place = "main" | "migrated" | "elsewhere";

export interface LeaderMigration {
  readonly leaderName: string;
  /** As configured. */
  readonly controllerLeaders: readonly ControllerLeader[];
  readonly placeOf: (controller: ControllerName) => Place;
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
  const places = new Map<ControllerName, Place>();
  for (const leader of controllerLeaders) {
    // Compares all names of a controller. Upstream compares only current names, so two of the three in its default
    // match nothing.
    const name = controllerNamed(leader.name);
    if (name === undefined) continue;
    places.set(name, leader.component === component || leader.component === "*" ? "migrated" : "elsewhere");
  }
  return { leaderName, controllerLeaders, placeOf: (controller) => places.get(controller) ?? "main" };
}

const kind = "LeaderMigrationConfiguration";
const group = "controllermanager.config.k8s.io";
const versions = ["v1alpha1", "v1beta1", "v1"].map((version) => `${group}/${version}`);

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reports every problem at once; each text starts with its path. */
export function readMigration(source: unknown): ParsedMigration {
  const problems: Problem[] = [];
  const report = (text: string): undefined => {
    problems.push({
      severity: "error",
      reason: "InvalidLeaderMigration",
      key: "--leader-migration-config",
      text: `--leader-migration-config: ${text}`,
    });
  };
  const refuseUnknown = (fields: object, known: readonly string[], path: string): void => {
    for (const key of Object.keys(fields))
      if (!known.includes(key)) report(`${path}${key} is unknown; allowed: ${known.join(", ")}`);
  };
  const textOf = (value: unknown, path: string): string => {
    if (typeof value === "string" && value !== "") return value;
    report(`${path} must be a non-empty string, got ${JSON.stringify(value) ?? "nothing"}`);
    return "";
  };

  if (!isFields(source)) {
    report(`the file must contain an object of kind ${kind}`);
    return { problems };
  }
  const { apiVersion, resourceLock = "leases", controllerLeaders = [] } = source;
  refuseUnknown(source, ["apiVersion", "kind", "leaderName", "resourceLock", "controllerLeaders"], "");
  if (source["kind"] !== kind) report(`kind must be ${kind}, got ${JSON.stringify(source["kind"])}`);
  if (!versions.includes(String(apiVersion)))
    report(`apiVersion must be one of ${versions.join(", ")}, got ${JSON.stringify(apiVersion)}`);
  const leaderName = textOf(source["leaderName"], "leaderName");
  if (resourceLock === "endpoints")
    report('resourceLock "endpoints" no longer exists in Kubernetes; use leases');
  else if (resourceLock !== "leases")
    report(`resourceLock must be leases, got ${JSON.stringify(resourceLock)}`);
  if (!Array.isArray(controllerLeaders)) {
    report(`controllerLeaders must be a list, got ${JSON.stringify(controllerLeaders)}`);
    return { problems };
  }
  const leaders = (controllerLeaders as unknown[]).map((leader, index): ControllerLeader => {
    const path = `controllerLeaders[${index}]`;
    if (!isFields(leader)) {
      report(`${path} must be an object with name and component`);
      return { name: "", component: "" };
    }
    refuseUnknown(leader, ["name", "component"], `${path}.`);
    return {
      name: textOf(leader["name"], `${path}.name`),
      component: textOf(leader["component"], `${path}.component`),
    };
  });
  return problems.length > 0
    ? { problems }
    : { migration: { leaderName, controllerLeaders: leaders }, problems };
}

// Reads the leader migration from the file of --leader-migration-config, or uses upstream's default configuration.

function problem(text: string): Problem {
  return {
    severity: "error",
    reason: "InvalidLeaderMigration",
    key: "--leader-migration-config",
    text: `--leader-migration-config: ${text}`,
  };
}

/** Strict: duplicate fields are errors. */
export async function readMigrationText(text: string): Promise<ParsedMigration> {
  // Loaded only here: the parser takes a megabyte of memory, and few clusters migrate.
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { uniqueKeys: true });
  if (document.errors.length > 0) {
    return { problems: document.errors.map(({ message }) => problem(message.split("\n")[0] ?? message)) };
  }
  return readMigration(document.toJS() as unknown);
}

/** As in upstream, there is no leader migration without leader election. */
export async function readMigrationOf(
  flags: Pick<Flags, "leader-elect" | "enable-leader-migration" | "leader-migration-config">,
  files: Pick<Files, "read">,
): Promise<{ readonly migration?: LeaderMigration; readonly problems: readonly Problem[] }> {
  if (!flags["leader-elect"] || !flags["enable-leader-migration"]) return { problems: [] };
  const path = flags["leader-migration-config"];
  if (path === undefined) return { migration: createMigration(defaultMigration), problems: [] };
  let text: string;
  try {
    text = await files.read(path);
  } catch (error) {
    const code = codeOf(error) || "unknown error";
    return {
      problems: [
        problem(
          `cannot read ${path} (${code}); check that the file exists and that this process may read it`,
        ),
      ],
    };
  }
  const { migration, problems } = await readMigrationText(text);
  return migration === undefined ? { problems } : { migration: createMigration(migration), problems };
}
