// Secrets, ConfigMaps and files that a provider needs. It declares them and receives their values; it never reads
// from Kubernetes or opens files.

import type { Secret } from "../core/secret.ts";

/**
 * Something a provider reads. Returned by `ProviderDefinition.inputs` (files only; a change connects the cloud again) and by
 * `LoadBalancers.inputs` (a change plans all load balancers again).
 */
export type InputDeclaration =
  | { readonly kind: "Secret" | "ConfigMap"; readonly namespace: string; readonly name: string }
  | { readonly kind: "File"; readonly path: string };

/** A Secret or ConfigMap that a Service names. It is read in the Service's namespace only. */
export interface ServiceInput {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
}

/** The current values of the declared inputs. Undefined: the object does not exist, or was not declared. */
export interface Inputs {
  /** The data of a Secret, by key. */
  secret(namespace: string, name: string): Readonly<Record<string, Secret>> | undefined;
  /** The data of a ConfigMap, by key. */
  configMap(namespace: string, name: string): Readonly<Record<string, string>> | undefined;
  /** The content of a file. */
  file(path: string): Secret | undefined;
}
