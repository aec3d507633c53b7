// Inputs that a provider needs to connect in addition to settings, such as a token file. The provider declares files and Secrets
// and receives their content; it opens none itself.

import type { Secret } from "../core/secret.ts";

/** A file that a provider reads. When it changes, the cloud is connected again. */
export interface FileInput {
  readonly kind: "File";
  readonly path: string;
  /** The file need not exist. If unset, a missing file is an error. */
  readonly optional?: true;
  /** The setting that names the file, which must have certificates in the PEM format. */
  readonly certificatesOf?: string;
}

/** A Secret of the cluster. */
export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

/** A Secret that `Context.readSecret` may read. The manager's role permits reading this Secret by name. */
export interface SecretInput extends SecretName {
  readonly kind: "Secret";
}

/** A file or Secret that a provider reads. Returned by `ProviderDefinition.inputs`. */
export type InputDeclaration = FileInput | SecretInput;

/** The current values of the declared inputs. */
export interface Inputs {
  /** The content of a file. Undefined if the file does not exist or was not declared. */
  file(path: string): Secret | undefined;
}
