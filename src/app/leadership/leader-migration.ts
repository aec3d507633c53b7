// Leader migration: which controllers run under the Lease that is shared with kube-controller-manager while they move out of
// it, read strictly from a LeaderMigrationConfiguration. Pure.

import type { Problem } from "../../core/problem.ts";
import { type ControllerName, controllerNamed } from "../flags/controller-names.ts";

/** Under the main Lease, under the shared one, or in another component. */
export type Place = "main" | "migrated" | "elsewhere";

export interface LeaderMigration {
  readonly leaderName: string;
  readonly placeOf: (controller: ControllerName) => Place;
}

export interface ControllerLeader {
  readonly name: string;
  readonly component: string;
}

/** Upstream's built-in one. */
export const defaultMigration = {
  leaderName: "cloud-provider-extraction-migration",
  controllerLeaders: ["route-controller", "service-controller", "cloud-node-lifecycle-controller"].map(
    (name): ControllerLeader => ({ name, component: "*" }),
  ),
};

export function createMigration(
  { leaderName, controllerLeaders }: typeof defaultMigration,
  component = "cloud-controller-manager",
): LeaderMigration {
  const places = new Map<ControllerName, Place>();
  for (const leader of controllerLeaders) {
    // By every name it has: upstream compares the present ones only, and so forgets two of its own three.
    const name = controllerNamed(leader.name);
    if (name === undefined) continue;
    places.set(name, leader.component === component || leader.component === "*" ? "migrated" : "elsewhere");
  }
  return { leaderName, placeOf: (controller) => places.get(controller) ?? "main" };
}

const kind = "LeaderMigrationConfiguration";
const group = "controllermanager.config.k8s.io";
const versions = ["v1alpha1", "v1beta1", "v1"].map((version) => `${group}/${version}`);

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** From what the file's YAML says; every problem at once, each beginning with where it is. */
export function readMigration(source: unknown): {
  readonly migration?: typeof defaultMigration;
  readonly problems: readonly Problem[];
} {
  const problems: Problem[] = [];
  const wrong = (text: string): undefined => {
    problems.push({
      severity: "error",
      reason: "InvalidLeaderMigration",
      key: "--leader-migration-config",
      text: `--leader-migration-config: ${text}`,
    });
  };
  const refuseUnknown = (fields: object, known: readonly string[], path: string): void => {
    for (const key of Object.keys(fields))
      if (!known.includes(key)) wrong(`${path}${key} is not known; there are ${known.join(", ")}`);
  };
  const textOf = (value: unknown, path: string): string => {
    if (typeof value === "string" && value !== "") return value;
    wrong(`${path} must be a text that is not empty, got ${JSON.stringify(value) ?? "nothing"}`);
    return "";
  };

  if (!isFields(source)) {
    wrong(`must be an object of kind ${kind}, and the file holds none`);
    return { problems };
  }
  const { apiVersion, resourceLock = "leases", controllerLeaders = [] } = source;
  refuseUnknown(source, ["apiVersion", "kind", "leaderName", "resourceLock", "controllerLeaders"], "");
  if (source["kind"] !== kind) wrong(`kind must be ${kind}, got ${JSON.stringify(source["kind"])}`);
  if (!versions.includes(String(apiVersion)))
    wrong(`apiVersion must be one of ${versions.join(", ")}, got ${JSON.stringify(apiVersion)}`);
  const leaderName = textOf(source["leaderName"], "leaderName");
  if (resourceLock === "endpoints")
    wrong('resourceLock "endpoints" no longer exists in Kubernetes; write leases');
  else if (resourceLock !== "leases")
    wrong(`resourceLock must be leases, got ${JSON.stringify(resourceLock)}`);
  if (!Array.isArray(controllerLeaders)) {
    wrong(`controllerLeaders must be a list, got ${JSON.stringify(controllerLeaders)}`);
    return { problems };
  }
  const leaders = (controllerLeaders as unknown[]).map((leader, index): ControllerLeader => {
    const path = `controllerLeaders[${index}]`;
    if (!isFields(leader)) {
      wrong(`${path} must have name and component`);
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
