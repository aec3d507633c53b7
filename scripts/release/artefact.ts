// One step of a release, and the name of the file that most steps begin with.

import type { Prepared } from "../build/executable.ts";
import { endingOf, type Target } from "../build/targets.ts";
import type { ReleaseFolder } from "./folder.ts";

/** One step of a release. */
export interface Artefact {
  readonly name: string;
  /** Makes the file, and returns the text for the progress. */
  readonly make: (folder: ReleaseFolder) => Promise<string> | string;
}

/** The name of an executable in a release. */
export function executableName({ provider }: Prepared, target: Target): string {
  return `${provider.program}-${target}${endingOf(target)}`;
}

/** The name of the archive with the executable. */
export function archiveName({ provider }: Prepared, target: Target): string {
  return `${provider.program}-${target}.tar.gz`;
}
