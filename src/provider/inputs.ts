// Files that a provider needs to connect, such as one with a token. It declares them and receives their content; it never opens files.

import type { Secret } from "../core/secret.ts";

/** A file that a provider reads. Returned by `ProviderDefinition.inputs`; a change connects the cloud again. */
export interface InputDeclaration {
  readonly kind: "File";
  readonly path: string;
  /** It need not exist. Otherwise, a missing file is an error. */
  readonly optional?: true;
}

/** The current values of the declared inputs. */
export interface Inputs {
  /** The content of a file. Undefined: the file does not exist, or was not declared. */
  file(path: string): Secret | undefined;
}
