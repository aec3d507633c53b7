// Reads `manifests --set`: values of the manifest and cloud settings, both strictly. Pure.

import { didYouMean } from "../../core/did-you-mean.ts";
import { type Built, buildField, flag, integer, quoted, text } from "../../core/fields.ts";
import { pairs } from "../../core/list-fields.ts";
import type { Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Field, Fields, Values } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import type { ManifestKind } from "../flags/groups/commands.ts";

export interface SetOptions {
  readonly kind: ManifestKind;
  /** `NAME=VALUE`. For a setting with a variable, `NAME` alone uses the variable's value. */
  readonly entries: readonly string[];
  readonly config: Fields;
  readonly environment: Environment;
  /** The names of all flags, to recognize a flag that was given as a value. */
  readonly flagNames: readonly string[];
}

export interface ReadSet {
  readonly values: ManifestValues;
  /** Cloud settings as text, by name. */
  readonly settings: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

const failure = (key: string, text: string): Problem => ({
  severity: "error",
  reason: "InvalidFlag",
  key: "--set",
  text: `--set ${key}: ${text}`,
});

/** The name of the setting, given its name or its variable. */
function settingNamed(config: Fields, word: string): readonly [string, Field<unknown>] | undefined {
  return Object.entries<Field<unknown>>(config).find(([name, { env }]) => name === word || env === word);
}

function unknownName(word: string, { config, flagNames }: SetOptions): Problem {
  if (flagNames.includes(word)) return failure(word, `is a flag; pass --${word}=VALUE instead`);
  const variables = Object.values(config).flatMap(({ env }) => env ?? []);
  const known = [...Object.keys(manifestValues), ...Object.keys(config), ...variables];
  const meant = didYouMean(word, known);
  const hint =
    meant === undefined
      ? `values: ${Object.keys(manifestValues).join(", ")}; --help lists the cloud settings`
      : `did you mean ${meant}?`;
  return failure(word, `is neither a value of the manifest nor a setting of the cloud; ${hint}`);
}

export function readSet(options: SetOptions): ReadSet {
  const { kind, entries, config, environment } = options;
  const ofManifest: Record<string, string> = {};
  const settings = new Map<string, string>();
  const problems: Problem[] = [];
  for (const entry of entries) {
    const [word = "", value] = entry.split(/=(.*)/s);
    if (Object.hasOwn(manifestValues, word)) {
      const kinds: readonly ManifestKind[] = kindsOfValue[word as keyof typeof manifestValues];
      if (!kinds.includes(kind)) {
        problems.push(failure(word, `has no effect with --as ${kind}; it is for ${kinds.join(", ")}`));
      } else if (value === undefined) problems.push(failure(word, `needs a value: --set ${word}=VALUE`));
      else ofManifest[word] = value;
      continue;
    }
    const [name, field] = settingNamed(config, word) ?? [];
    if (name === undefined) problems.push(unknownName(word, options));
    else if (value !== undefined) settings.set(name, value);
    else {
      const variable = field?.env ?? "";
      const taken = environment[variable] ?? "";
      const hint =
        variable === "" ? `needs a value: --set ${name}=VALUE` : `the variable ${variable} is not set`;
      if (taken === "") problems.push(failure(word, hint));
      else settings.set(name, taken);
    }
  }
  const read = readSettings(manifestValues, ofManifest, { what: "setting" });
  const ofCloud = readSettings(config, Object.fromEntries(settings), { what: "setting" });
  const isWrong = ({ severity, reason }: Problem): boolean =>
    severity === "error" && reason !== "MissingSetting";
  for (const { text } of [...read.problems, ...ofCloud.problems].filter(isWrong)) {
    problems.push({ severity: "error", reason: "InvalidFlag", key: "--set", text: `--set: ${text}` });
  }
  return { values: read.values, settings, problems };
}

const nameExpects = "a name of lower-case letters, digits and dashes, at most 63 characters";
const namePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A DNS label, which is a valid name for every printed object. */
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

export interface ManifestReference {
  readonly namespace: string;
  readonly name: string;
}

function reference(what: string): Field<ManifestReference> {
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

/**
 * The values of `manifests --set` that are not cloud settings. Parsing, messages and docs/kubernetes-install.md use this table.
 */
export const manifestValues = {
  image: text("The container image. Without it, the manifest has the image IMAGE, which no kubelet accepts."),
  name: objectName(
    "Name of all objects. Default: fairlead for the permissions, and the name of the executable for all other objects.",
  ),
  namespace: objectName("Namespace of the pods and their Secret.", { fallback: "kube-system" }),
  replicas: integer("Number of pods.", { min: 1 }, { fallback: 2 }),
  secret: objectName(
    "Name of an existing Secret with the credentials; its keys are the names of the variables. No Secret is then printed.",
  ),
  "secret-keys": pairs(
    "Keys of that Secret that differ from the variables, as in the Secret of a Go manager: VARIABLE=KEY, such as DO_ACCESS_TOKEN=access-token.",
    { fallback: new Map() },
  ),
  user: text("User of a kubeconfig, who gets the permissions too."),
  scraper: reference("Service account that may read the metrics, such as monitoring/prometheus."),
  "host-network": flag("Use the network of the machine, so that the pods start before CNI.", {
    fallback: true,
  }),
  "kubelet-folder": text("The root folder of the kubelet.", { fallback: "/var/lib/kubelet" }),
  "priority-class": text("Priority class of the pods.", { fallback: "system-node-critical" }),
  "pod-node-selector": pairs(
    "Labels of the Linux Nodes that run the pods; an empty list selects all of them.",
    {
      fallback: new Map([["node-role.kubernetes.io/control-plane", ""]]),
    },
  ),
} as const satisfies Fields;

export type ManifestValues = Values<typeof manifestValues>;

const scheduled: readonly ManifestKind[] = ["daemonset", "deployment"];
const pods: readonly ManifestKind[] = [...scheduled, "static-pod", "node-volumes"];
const withAccess: readonly ManifestKind[] = [...scheduled, "rbac"];

/** The kinds that use each value. */
export const kindsOfValue: Readonly<Record<keyof typeof manifestValues, readonly ManifestKind[]>> = {
  image: pods,
  name: [...pods, "rbac"],
  namespace: [...pods, "rbac"],
  replicas: ["deployment"],
  secret: scheduled,
  "secret-keys": scheduled,
  user: withAccess,
  scraper: withAccess,
  "host-network": scheduled,
  "kubelet-folder": ["node-volumes"],
  "priority-class": pods,
  "pod-node-selector": scheduled,
};
