// All that is known of this build, for `--version=raw`: one JSON object, where Go's managers print a Go struct.

import { commit, version } from "./version.ts";

export function rawVersion(program: string): string {
  return `${JSON.stringify({
    program,
    version,
    commit,
    runtime: `Bun ${Bun.version}`,
    revision: Bun.revision,
    platform: `${process.platform}/${process.arch}`,
  })}\n`;
}
