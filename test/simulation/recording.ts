// A recording of a run: every manager request and every other write, one per line. Two
// revisions of the manager behave in the same way if the recordings of their seeds are equal.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** The folder in which recordings are written, and the one with which they are compared. */
export interface RecordingFolders {
  readonly into?: string | undefined;
  readonly against?: string | undefined;
}

export const recordingFrom = (variables: Readonly<Record<string, string | undefined>>) => {
  const { FAIRLEAD_RECORD: into = "", FAIRLEAD_AGAINST: against = "" } = variables;
  if (into === "" && against === "") return undefined;
  return { into: into || undefined, against: against || undefined };
};

export class Recording {
  readonly #folders: RecordingFolders;
  readonly #name: string;
  readonly #lines: string[] = [];

  /** The name is the line of a seed worker, for example "7 volumes". */
  constructor(folders: RecordingFolders, name: string) {
    this.#folders = folders;
    this.#name = `${name.replaceAll(" ", "-")}.log`;
  }

  readonly record = (line: string): void => {
    this.#lines.push(line);
  };

  /**
   * Writes the recording. Returns the first difference from the earlier recording; undefined if
   * there is no difference or no earlier recording.
   */
  async end(): Promise<string | undefined> {
    const { into, against } = this.#folders;
    if (into !== undefined) {
      await mkdir(into, { recursive: true });
      await Bun.write(join(into, this.#name), `${this.#lines.join("\n")}\n`);
    }
    if (against === undefined) return undefined;
    const earlier = (await Bun.file(join(against, this.#name)).text()).trimEnd().split("\n");
    return firstDifference(earlier, this.#lines);
  }
}

export const firstDifference = (earlier: readonly string[], now: readonly string[]): string | undefined => {
  const length = Math.max(earlier.length, now.length);
  for (let index = 0; index < length; index += 1) {
    if (earlier[index] === now[index]) continue;
    const shown = (line: string | undefined) => line?.slice(0, 300) ?? "the end";
    return `line ${index + 1} was: ${shown(earlier[index])}\n  and is: ${shown(now[index])}`;
  }
  return undefined;
};
