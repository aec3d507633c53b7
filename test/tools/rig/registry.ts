// A container registry on loopback, for tests that push images and charts.

import { type KeptProcess, startProcess } from "../../cluster/rig/kept-process.ts";
import { until } from "../../cluster/rig/until.ts";
import { goTool } from "./install.ts";

/** The path of crane, which includes a registry. */
export function craneTool(): string {
  return goTool({
    path: "github.com/google/go-containerregistry/cmd/crane",
    version: "v0.22.1",
    name: "crane",
  });
}

export class LocalRegistry {
  /** Host and port. */
  readonly host: string;
  readonly #process: KeptProcess;

  private constructor(host: string, process: KeptProcess) {
    this.host = host;
    this.#process = process;
  }

  static async start(crane: string): Promise<LocalRegistry> {
    const process = startProcess([crane, "registry", "serve", "--address", "127.0.0.1:0"]);
    const port = await until(
      "the registry to listen",
      () => /serving on port (\d+)/.exec(process.output())?.[1],
      { explain: () => process.output() },
    );
    return new LocalRegistry(`127.0.0.1:${port}`, process);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
  }
}
