// The version of this executable and the licenses of its components. The build script replaces the declared constants.

declare const FAIRLEAD_VERSION: string | undefined;
declare const FAIRLEAD_COMMIT: string | undefined;
declare const FAIRLEAD_NOTICES: string | undefined;

/** "dev" when run from the sources. */
export const version: string = typeof FAIRLEAD_VERSION === "string" ? FAIRLEAD_VERSION : "dev";

/** The commit of the sources, with ".dirty" for uncommitted changes; empty when run from the sources. */
export const commit: string = typeof FAIRLEAD_COMMIT === "string" ? FAIRLEAD_COMMIT : "";

export const notices: string =
  typeof FAIRLEAD_NOTICES === "string"
    ? FAIRLEAD_NOTICES
    : "Nothing is compiled in when Fairlead runs from its sources; see LICENSE and package.json.\n";

/** The output of --version=raw: one JSON object, whereas the Go managers print a Go struct. */
export function buildDetails(program: string): string {
  return `${JSON.stringify({
    program,
    version,
    commit,
    runtime: `Bun ${Bun.version}`,
    revision: Bun.revision,
    platform: `${process.platform}/${process.arch}`,
  })}\n`;
}
