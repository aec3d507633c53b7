// Which programs of a control plane the tests find in $KUBEBUILDER_ASSETS.

import { existsSync } from "node:fs";
import { join } from "node:path";

/** What is missing for these programs, in one line; undefined if nothing is. */
export function missingAssets(programs: readonly string[]): string | undefined {
  const folder = process.env["KUBEBUILDER_ASSETS"] ?? "";
  if (folder === "") return `KUBEBUILDER_ASSETS is not set to a folder with ${programs.join(", ")}`;
  const missing = programs.filter((name) => !existsSync(join(folder, name)));
  return missing.length === 0
    ? undefined
    : `KUBEBUILDER_ASSETS (${folder}) has no ${missing.join(" and no ")}`;
}
