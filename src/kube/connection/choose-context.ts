// Merges kubeconfig files as kubectl does, and reads the cluster and the user of one context. Pure.

import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/error-message.ts";
import { type KubeconfigCluster, type KubeconfigUser, readCluster, readUser } from "./kubeconfig.ts";
import { type Entry, FieldReader, type Fields, isFields } from "./kubeconfig-fields.ts";

export interface KubeconfigFile {
  readonly path: string;
  readonly text: string;
}

/** The context with absolute paths, or with relative paths if the kubeconfig's path is relative. */
export interface KubeconfigContext {
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  readonly namespace?: string;
  /** The file that defines the user. */
  readonly path: string;
}

export type KubeconfigResult =
  | { readonly context: KubeconfigContext; readonly problem?: undefined }
  | { readonly context?: undefined; readonly problem: string };

/** The fields of a file; empty if it cannot be parsed. */
function parse(read: FieldReader, text: string): Fields {
  let parsed: unknown;
  try {
    parsed = Bun.YAML.parse(text);
  } catch (error) {
    read.problems.push(`It is not valid YAML: ${messageOf(error)}.`);
    return {};
  }
  if (!isFields(parsed)) {
    read.problems.push(
      "It is empty or not a mapping. Expected kind: Config with clusters, users and contexts.",
    );
    return {};
  }
  if (parsed["kind"] !== undefined && parsed["kind"] !== "Config")
    read.problems.push(`kind must be Config, got ${JSON.stringify(parsed["kind"])}.`);
  return parsed;
}

/**
 * Of several definitions, and of several values of `current-context`, the first applies. Problems of contexts other than the
 * chosen one are ignored.
 */
export function chooseContext(files: readonly KubeconfigFile[], wanted?: string): KubeconfigResult {
  const parsed = files.map(({ path, text }) => {
    const read = new FieldReader(path);
    return { read, fields: parse(read, text) };
  });
  const problems = (): string =>
    parsed
      .filter(({ read }) => read.problems.length > 0)
      .map(({ read }) => `The kubeconfig ${read.path} is invalid: ${read.problems.join(" ")}`)
      .join(" ");
  const entries = (key: string, inner: string): ReadonlyMap<string, Entry> => {
    const found = new Map<string, Entry>();
    for (const { read, fields } of parsed) read.addNamed(found, fields, key, inner);
    return found;
  };
  const clusters = entries("clusters", "cluster");
  const users = entries("users", "user");
  const contexts = entries("contexts", "context");
  const current = parsed.map(({ read, fields }) => read.text(fields, "current-context", "kubeconfig"));
  if (problems() !== "") return { problem: problems() };

  const [subject, verb] =
    files.length === 1
      ? [`The kubeconfig ${files[0]?.path}`, "has"]
      : [`The kubeconfigs ${files.map(({ path }) => path).join(", ")}`, "have"];
  const names = [...contexts.keys()].join(", ") || "none";
  const name = wanted ?? current.find((each) => each !== undefined);
  if (name === undefined)
    return { problem: `${subject} ${verb} no current-context. Set it to one of: ${names}.` };
  const context = contexts.get(name);
  if (context === undefined) {
    return {
      problem: `${subject} ${verb} no context ${JSON.stringify(name)}. The contexts are: ${names}.`,
    };
  }
  const { read, fields, at } = context;
  const clusterName = read.text(fields, "cluster", at);
  const userName = read.text(fields, "user", at);
  const namespace = read.text(fields, "namespace", at);
  if (clusterName === undefined) read.problems.push(`${at}.cluster is missing.`);
  const missing = (kind: "cluster" | "user", missingName: string): KubeconfigResult => ({
    problem: `Context ${JSON.stringify(name)} in the kubeconfig ${read.path} refers to the ${kind} ${JSON.stringify(missingName)}, which is not defined.`,
  });
  const clusterEntry = clusters.get(clusterName ?? "");
  if (clusterEntry === undefined && clusterName !== undefined) return missing("cluster", clusterName);
  const userEntry = users.get(userName ?? "");
  if (userEntry === undefined && userName !== undefined) return missing("user", userName);
  const cluster = clusterEntry === undefined ? undefined : readCluster(clusterEntry);
  const user = userEntry === undefined ? {} : readUser(userEntry);
  if (cluster === undefined || problems() !== "") return { problem: problems() };
  const path = userEntry?.read.path ?? read.path;
  return { context: { cluster, user, path, ...defined({ namespace }) } };
}
