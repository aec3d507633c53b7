// What a provider needs from Kubernetes and from files, declared by it and handed to it as values: it never talks to
// Kubernetes and never opens a file. A change of what `ProviderDefinition.inputs` names connects the cloud anew.

import type { Secret } from "../core/secret.ts";

export type InputDeclaration =
  | { readonly kind: "Secret" | "ConfigMap"; readonly namespace: string; readonly name: string }
  | { readonly kind: "File"; readonly path: string };

/** What one Service names, in its own namespace: nobody reads another one's Secrets through us. */
export interface ServiceInput {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
}

/** Undefined is what does not exist, or was not declared. */
export interface Inputs {
  secret(namespace: string, name: string): Readonly<Record<string, Secret>> | undefined;
  configMap(namespace: string, name: string): Readonly<Record<string, string>> | undefined;
  file(path: string): Secret | undefined;
}
