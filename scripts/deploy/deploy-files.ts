// All generated files in deploy/.

import { type Files, staticFiles } from "./static-files.ts";

export function deployFiles(): Files {
  return staticFiles();
}
