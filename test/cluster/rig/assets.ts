// The programs of a control plane in $KUBEBUILDER_ASSETS: which are missing, and their version.

import { existsSync } from "node:fs";
import { join } from "node:path";

/** The missing programs, in one line; undefined if none are missing. */
export function missingAssets(programs: readonly string[]): string | undefined {
  const folder = process.env["KUBEBUILDER_ASSETS"] ?? "";
  if (folder === "") return `KUBEBUILDER_ASSETS is not set to a folder with ${programs.join(", ")}`;
  const missing = programs.filter((name) => !existsSync(join(folder, name)));
  return missing.length === 0
    ? undefined
    : `KUBEBUILDER_ASSETS (${folder}) has no ${missing.join(" and no ")}`;
}

/** The minor version of the API server, for test files that must know it: 35 for Kubernetes 1.35. */
export const minorVariable = "FAIRLEAD_API_SERVER_MINOR";

/** The version of the API server in $KUBEBUILDER_ASSETS, such as 1.35.4. */
export function apiServerVersion(): string {
  const program = join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kube-apiserver");
  const text = Bun.spawnSync([program, "--version"]).stdout.toString();
  const [, version] = /^Kubernetes v(\S+)/.exec(text) ?? [];
  if (version === undefined) throw new Error(`${program} --version printed ${JSON.stringify(text)}.`);
  return version;
}
