// The output of the program for a command, such as its man page. It is the same on every platform, so the program runs here
// from its sources.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ScriptError } from "../command-line.ts";
import { bundle } from "./compile.ts";
import type { ProgramModule } from "./provider-module.ts";

export class ProgramOutput {
  readonly #folder: string;
  readonly #entry: string;

  private constructor(folder: string, entry: string) {
    this.#folder = folder;
    this.#entry = entry;
  }

  static async of(
    provider: ProgramModule,
    defines: Readonly<Record<string, string>>,
  ): Promise<ProgramOutput> {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-program-"));
    return new ProgramOutput(folder, await bundle(provider, defines, folder));
  }

  /** Standard output of a command. Throws when it fails. */
  of(...args: readonly string[]): string {
    const command = [process.execPath, this.#entry, ...args];
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
      cwd: this.#folder,
      env: {},
      stdin: "ignore",
    });
    if (exitCode === 0) return stdout.toString();
    throw new ScriptError(`"${args.join(" ")}" of the program exited with ${exitCode}:\n${stderr}`);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
