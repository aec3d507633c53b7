// Reads one Secret, ConfigMap or file that a provider asked for, with a version that changes whenever its content does. It
// reads nothing else and keeps nothing.

import { Secret } from "../core/secret.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import type { KubeObject } from "../kube/objects.ts";
import { configMaps, type Resource, secrets } from "../kube/resources.ts";
import type { Files } from "../platform/files.ts";
import type { InputDeclaration } from "../provider/inputs.ts";

export type InputValue =
  | { readonly kind: "Secret"; readonly data: Readonly<Record<string, Secret>> }
  | { readonly kind: "ConfigMap"; readonly data: Readonly<Record<string, string>> }
  | { readonly kind: "File"; readonly content: Secret };

export interface ReadInput {
  /** Says nothing of the content. */
  readonly version: string;
  /** Undefined: there is none. */
  readonly value?: InputValue;
}

export type InputReader = (declaration: InputDeclaration, signal: AbortSignal) => Promise<ReadInput>;

const missing: ReadInput = { version: "missing" };

const decoded = (base64: string): Secret => new Secret(Buffer.from(base64, "base64").toString("utf8"));

function isMissing(error: unknown): boolean {
  return (
    isKubeError(error, "not-found") || (error as { readonly code?: unknown } | undefined)?.code === "ENOENT"
  );
}

export function createInputReader({ api, files }: { readonly api: KubeApi; readonly files: Files }) {
  const object = async <T extends KubeObject>(
    resource: Resource<T>,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    toValue: (object: T) => InputValue,
    signal: AbortSignal,
  ): Promise<ReadInput> => {
    const found = await api.get(resource, { namespace, name }, signal);
    const { uid, resourceVersion } = found.metadata;
    return { version: `${uid}/${resourceVersion}`, value: toValue(found) };
  };

  const file = async (path: string): Promise<ReadInput> => {
    // The version is taken before the content: a change in between is seen at the next look.
    const version = await files.version(path);
    if (version === undefined) return missing;
    return { version, value: { kind: "File", content: new Secret(await files.read(path)) } };
  };

  const read: InputReader = async (declaration, signal) => {
    try {
      switch (declaration.kind) {
        case "Secret":
          return await object(
            secrets,
            declaration,
            ({ data = {} }) => ({
              kind: "Secret",
              data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decoded(value)])),
            }),
            signal,
          );
        case "ConfigMap":
          return await object(
            configMaps,
            declaration,
            ({ data = {} }) => ({ kind: "ConfigMap", data }),
            signal,
          );
        case "File":
          return await file(declaration.path);
      }
    } catch (error) {
      if (isMissing(error)) return missing;
      throw error;
    }
  };
  return read;
}
