// What the ClusterRole in the manifests of the Go manager 1.35.0 grants.

import type { AccessRequest } from "../../../src/testing/apiserver/http/serve-reviews.ts";

const read = ["get", "list", "watch"];

/** By group and resource. */
const granted: Readonly<Record<string, readonly string[]>> = {
  "/configmaps": read,
  "/events": ["create", "patch", "update"],
  "/nodes": ["*"],
  "/nodes/status": ["patch"],
  "/services": ["list", "watch"],
  "/services/status": ["patch", "update"],
  "/serviceaccounts": ["create"],
  "coordination.k8s.io/leases": [...read, "create", "update"],
};

export function isGranted({ verb, group, resource, subresource }: AccessRequest): boolean {
  const verbs = granted[`${group}/${resource}${subresource === "" ? "" : `/${subresource}`}`] ?? [];
  return verbs.includes("*") || verbs.includes(verb);
}
