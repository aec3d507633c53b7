// The kubeconfig of the person who runs a command, found as kubectl finds it: --kubeconfig, KUBECONFIG, then ~/.kube/config. In a pod,
// the service account is used.

import type { Environment } from "../platform/environment.ts";
import type { Files } from "../platform/files.ts";
import type { Flags } from "./flags/table.ts";

export async function withUserKubeconfig(
  flags: Flags,
  { environment, files }: { readonly environment: Environment; readonly files: Pick<Files, "version"> },
): Promise<Flags> {
  const { KUBECONFIG = "", HOME = "", KUBERNETES_SERVICE_HOST: pod } = environment;
  if (flags.kubeconfig !== undefined || flags.master !== undefined) return flags;
  const isInPod = pod !== undefined && pod !== "";
  const candidates = [...KUBECONFIG.split(":"), ...(isInPod || HOME === "" ? [] : [`${HOME}/.kube/config`])];
  for (const path of candidates) {
    if (path !== "" && (await files.version(path)) !== undefined) return { ...flags, kubeconfig: path };
  }
  return flags;
}
