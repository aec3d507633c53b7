// Reads one Secret, ConfigMap or file that a provider declared as an input, with a version that changes whenever its content
// does.

import { Secret } from "../core/secret.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import { configMaps, secrets } from "../kube/resources.ts";
import type { Files } from "../platform/files.ts";
import type { InputDeclaration } from "../provider/inputs.ts";

export type InputValue =
  | { readonly kind: "Secret"; readonly data: Readonly<Record<string, Secret>> }
  | { readonly kind: "ConfigMap"; readonly data: Readonly<Record<string, string>> }
  | { readonly kind: "File"; readonly content: Secret };

export interface Input {
  /** Does not reveal the content. */
  readonly version: string;
  /** Undefined if the object or file does not exist. */
  readonly value?: InputValue;
}

export type InputReader = (declaration: InputDeclaration, signal: AbortSignal) => Promise<Input>;

const missing: Input = { version: "missing" };

export async function readInput(
  { api, files }: { readonly api: KubeApi; readonly files: Files },
  declaration: InputDeclaration,
  signal: AbortSignal,
): Promise<Input> {
  try {
    switch (declaration.kind) {
      case "Secret": {
        const { metadata, data = {} } = await api.get(secrets, declaration, signal);
        const decoded = Object.entries(data).map(([key, value]) => [key, decode(value)] as const);
        return {
          version: versionOf(metadata),
          value: { kind: "Secret", data: Object.fromEntries(decoded) },
        };
      }
      case "ConfigMap": {
        const { metadata, data = {} } = await api.get(configMaps, declaration, signal);
        return { version: versionOf(metadata), value: { kind: "ConfigMap", data } };
      }
      case "File": {
        const { path } = declaration;
        // The version is read before the content, so that a change in between is detected the next time.
        const version = await files.version(path);
        if (version === undefined) return missing;
        return { version, value: { kind: "File", content: new Secret(await files.read(path)) } };
      }
    }
  } catch (error) {
    if (isMissing(error)) return missing;
    throw error;
  }
}

function versionOf({
  uid,
  resourceVersion,
}: {
  readonly uid: string;
  readonly resourceVersion: string;
}): string {
  return `${uid}/${resourceVersion}`;
}

const decode = (base64: string): Secret => new Secret(Buffer.from(base64, "base64").toString("utf8"));

function isMissing(error: unknown): boolean {
  return (
    isKubeError(error, "not-found") || (error as { readonly code?: unknown } | undefined)?.code === "ENOENT"
  );
}
