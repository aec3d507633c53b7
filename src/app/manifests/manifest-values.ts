// The values of `manifests --set` that are not settings of the cloud. Parsing, messages and docs/kubernetes-install.md use the table.

import { type Built, buildField, flag, integer, quoted, text } from "../../core/fields.ts";
import { pairs } from "../../core/list-fields.ts";
import type { Field, Fields, Values } from "../../core/settings.ts";
import type { ManifestKind } from "../flags/groups/commands.ts";

const nameExpects = "a name of lower-case letters, digits and dashes, at most 63 characters";
const namePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A DNS label, which is valid as the name of every object that is printed. */
function objectName<const O extends { readonly fallback?: string }>(
  what: string,
  options?: O,
): Built<string, O> {
  return buildField(
    what,
    nameExpects,
    (raw) => (namePattern.test(raw.trim()) ? { value: raw.trim() } : { wrong: quoted(raw) }),
    options,
  );
}

export interface ObjectReference {
  readonly namespace: string;
  readonly name: string;
}

function reference(what: string): Field<ObjectReference> {
  return {
    text: what,
    expects: "a service account as namespace/name",
    parse: (raw) => {
      const [namespace = "", name = "", ...more] = raw.trim().split("/");
      const isValid = namePattern.test(namespace) && namePattern.test(name) && more.length === 0;
      return isValid ? { value: { namespace, name } } : { wrong: quoted(raw) };
    },
  };
}

export const manifestValues = {
  image: text("The container image. Without it, the manifest has the image IMAGE, which no kubelet accepts."),
  name: objectName(
    "Name of all objects. Default: fairlead for the permissions, and the name of the executable for the rest.",
  ),
  namespace: objectName("Namespace of the pods and their Secret.", { fallback: "kube-system" }),
  replicas: integer("Number of pods.", { min: 1 }, { fallback: 2 }),
  secret: objectName(
    "Name of a Secret that exists, with the credentials under the names of their variables. Then none is printed.",
  ),
  user: text("User of a kubeconfig that gets the permissions too."),
  scraper: reference("Service account that may read the metrics, such as monitoring/prometheus."),
  "host-network": flag("Use the network of the machine, which works before CNI.", { fallback: true }),
  "priority-class": text("Priority class of the pods.", { fallback: "system-node-critical" }),
  "pod-node-selector": pairs("Labels of the Nodes that run the pods; an empty list selects all Nodes.", {
    fallback: new Map([["node-role.kubernetes.io/control-plane", ""]]),
  }),
} as const satisfies Fields;

export type ManifestValues = Values<typeof manifestValues>;

const scheduled: readonly ManifestKind[] = ["daemonset", "deployment"];
const pods: readonly ManifestKind[] = [...scheduled, "static-pod"];
const withAccess: readonly ManifestKind[] = [...scheduled, "rbac"];

/** The kinds that use each value. */
export const kindsOfValue: Readonly<Record<keyof typeof manifestValues, readonly ManifestKind[]>> = {
  image: pods,
  name: [...pods, "rbac"],
  namespace: [...pods, "rbac"],
  replicas: ["deployment"],
  secret: scheduled,
  user: withAccess,
  scraper: withAccess,
  "host-network": scheduled,
  "priority-class": pods,
  "pod-node-selector": scheduled,
};
