// The results of all clients: one line each, with the numbers of `bun test`.

import { Unavailable } from "../../tools/rig/install.ts";

const countIn = (output: string, word: string): number =>
  Number(new RegExp(`^ (\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);

/** The number of passed steps, or of passed and skipped cases for csi-sanity. Undefined if this machine skips a test. */
export function casesIn(output: string): readonly [passed: number, skipped: number] | undefined {
  const [, passed, skipped] = /^(\d+) cases of csi-sanity passed, (\d+) are skipped/m.exec(output) ?? [];
  if (passed !== undefined) return [Number(passed), Number(skipped)];
  return countIn(output, "skip") > 0 ? undefined : [countIn(output, "pass"), 0];
}

export class Results {
  #pass = 0;
  #fail = 0;
  #skip = 0;

  result(isPassed: boolean, title: string): void {
    if (isPassed) this.#pass += 1;
    else this.#fail += 1;
    this.print(`(${isPassed ? "pass" : "fail"}) ${title}`);
  }

  print(line: string): void {
    process.stdout.write(`${line}\n`);
  }

  /** The result of `make`, or undefined if it cannot run here. */
  orSkip<T>(what: string, make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.#skip += 1;
      this.print(`(skip) ${what}: ${error.message}`);
      return undefined;
    }
  }

  /** The output of a client with its numbers, which it prints like `bun test`. Returns whether everything passed. */
  add(name: string, output: string, exitCode: number): boolean {
    const [pass, fail] = [countIn(output, "pass"), countIn(output, "fail")];
    this.#pass += pass;
    this.#fail += fail;
    process.stdout.write(output.replaceAll(/^ \d+ (pass|fail)\n/gm, ""));
    if (fail > 0) return false;
    if (exitCode === 0 && pass > 0) return true;
    this.result(false, `${name} exited with ${exitCode} without results`);
    return false;
  }

  /** Ends the process. The first lines have the form of a `bun test` summary, which .ci/run adds up. */
  end(): never {
    const [pass, fail, skip] = [this.#pass, this.#fail, this.#skip];
    this.print(`\n ${pass} pass\n ${fail} fail\n ${skip} skip\n${pass} passed, ${fail} failed`);
    process.exit(fail > 0 ? 1 : 0);
  }
}
