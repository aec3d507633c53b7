// Reads credentials that systemd provides as files (`LoadCredential=`, `SetCredentialEncrypted=`): the kubeconfig, and cloud
// settings by the name of the setting or of its variable. Flags and variables take precedence.

import { runtimeCodeOf } from "../../core/error-message.ts";
import type { Fields } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Files } from "../../platform/files.ts";

export interface WithCredentials {
  /** The environment, with a variable for each setting that was found as a credential. */
  readonly environment: Environment;
  /** The arguments, with --kubeconfig if it was found as a credential and no API server is set. */
  readonly args: readonly string[];
}

async function contentOf(files: Pick<Files, "read">, path: string): Promise<string | undefined> {
  try {
    return (await files.read(path)).replace(/\r?\n$/, "");
  } catch (error) {
    // A credential with a different name is meant for another program.
    if (runtimeCodeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const namesServer = (argument: string): boolean => /^--(kubeconfig|master)(=|$)/.test(argument);

export async function withServiceCredentials(
  config: Fields,
  {
    environment,
    files,
  }: { readonly environment: Environment; readonly files: Pick<Files, "read" | "version"> },
  args: readonly string[],
): Promise<WithCredentials> {
  const folder = environment["CREDENTIALS_DIRECTORY"];
  if (folder === undefined || folder === "") return { environment, args };
  const variables: Record<string, string> = {};
  for (const [name, { env }] of Object.entries(config)) {
    if (env === undefined || (environment[env] ?? "") !== "") continue;
    const value =
      (await contentOf(files, `${folder}/${env}`)) ?? (await contentOf(files, `${folder}/${name}`));
    if (value !== undefined) variables[env] = value;
  }
  const kubeconfig = `${folder}/kubeconfig`;
  const isNeeded = !args.some(namesServer) && (await files.version(kubeconfig)) !== undefined;
  return {
    environment: { ...environment, ...variables },
    args: isNeeded ? [`--kubeconfig=${kubeconfig}`, ...args] : args,
  };
}
