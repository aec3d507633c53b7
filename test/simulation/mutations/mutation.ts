// A mutation of src removes one protection. The simulation or a test must find it, which proves that its faults and checks still
// work.

import type { Variants } from "../variants.ts";

export interface Mutation {
  readonly name: string;
  /** The protection that no longer works. */
  readonly breaks: string;
  readonly foundBy: FoundBySimulation | FoundByTest;
  readonly edits: readonly Edit[];
}

export interface FoundBySimulation extends Variants {
  /** The invariants that it may violate. */
  readonly invariants: readonly number[];
  /** The first seed that found it. */
  readonly seed: number;
}

/** For what the faults of a seed cannot do, or meet rarely. Other worlds have random faults, too. */
export interface FoundByTest {
  readonly file: string;
  /** The part of the title that names the test. */
  readonly test: string;
}

/** `find` occurs exactly once in the file. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Found by a world without random faults. */
export const scripted = (test: string): FoundByTest => ({
  file: "test/simulation/scripted-worlds.long.test.ts",
  test,
});

/** The source with the edits of the mutation that concern this file. */
export const mutate = ({ name, edits }: Mutation, file: string, source: string): string =>
  edits
    .filter((edit) => edit.file === file)
    .reduce((text, { find, replace }) => {
      const parts = text.split(find);
      if (parts.length !== 2) {
        throw new Error(
          `The mutation ${name} expects its text exactly once in ${file}, found it ${parts.length - 1} times.`,
        );
      }
      return parts.join(replace);
    }, source);
