// All generated files in deploy/.

import { chartFiles } from "./chart/chart-files.ts";
import { kustomizeFiles } from "./kustomize-files.ts";
import { type Files, staticFiles } from "./static-files.ts";

export function deployFiles(): Files {
  return { ...staticFiles(), ...chartFiles(), ...kustomizeFiles() };
}
