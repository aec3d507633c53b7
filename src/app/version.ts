// What this executable was built as, and whose work is inside. The build script replaces these words; run from the
// sources there is neither a version nor anything that was compiled in.

declare const FAIRLEAD_VERSION: string | undefined;
declare const FAIRLEAD_COMMIT: string | undefined;
declare const FAIRLEAD_NOTICES: string | undefined;

export const version: string = typeof FAIRLEAD_VERSION === "string" ? FAIRLEAD_VERSION : "dev";

/** With ".dirty" behind it when there was something in the sources that no commit has; empty when nobody built it. */
export const commit: string = typeof FAIRLEAD_COMMIT === "string" ? FAIRLEAD_COMMIT : "";

export const notices: string =
  typeof FAIRLEAD_NOTICES === "string"
    ? FAIRLEAD_NOTICES
    : "Run from its sources, the program contains nothing of others; see LICENSE and package.json.\n";
