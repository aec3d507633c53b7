// Inputs that a provider needs to connect in addition to settings, such as a file with a token. It declares files and Secrets and
// receives their content; it opens none itself.

import type { Secret } from "../core/secret.ts";

/** A file that a provider reads. A change connects the cloud again. */
export interface FileInput {
  readonly kind: "File";
  readonly path: string;
  /** It need not exist. Otherwise, a missing file is an error. */
  readonly optional?: true;
}

/** A Secret of the cluster. */
export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

/** A Secret that `Context.readSecret` may read. The role of the manager permits it to read this Secret, by its name. */
export interface SecretInput extends SecretName {
  readonly kind: "Secret";
}

/** What a provider needs. Returned by `ProviderDefinition.inputs`. */
export type InputDeclaration = FileInput | SecretInput;

/** The current values of the declared inputs. */
export interface Inputs {
  /** The content of a file. Undefined: the file does not exist, or was not declared. */
  file(path: string): Secret | undefined;
}
