// Credentials that systemd hands over as files (`LoadCredential=`, `SetCredentialEncrypted=`): the kubeconfig, and settings
// of the cloud by the name of their variable or their own. What is given in any other way counts more.

import { codeOf } from "../../core/errors.ts";
import type { Fields } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Files } from "../../platform/files.ts";

export interface WithCredentials {
  /** The given one, with variables for settings that came as a file. */
  readonly environment: Environment;
  /** The given ones, with the kubeconfig if it came as a file and no other is named. */
  readonly args: readonly string[];
}

async function contentOf(files: Pick<Files, "read">, path: string): Promise<string | undefined> {
  try {
    return (await files.read(path)).replace(/\r?\n$/, "");
  } catch (error) {
    // Whoever loads a credential under another name means another program.
    if (codeOf(error) === "ENOENT") return undefined;
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
  const isMeant = !args.some(namesServer) && (await files.version(kubeconfig)) !== undefined;
  return {
    environment: { ...environment, ...variables },
    args: isMeant ? [`--kubeconfig=${kubeconfig}`, ...args] : args,
  };
}
