// Bombadil, which explores a web page with random actions and checks properties after each of them.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KeptProcess, startProcess } from "../../cluster/rig/kept-process.ts";
import { cached, run } from "../rig/cached.ts";
import { installing, needTool } from "../rig/install.ts";

const version = "0.7.0";

/** The path of the executable, which the package contains. */
export function bombadilTool(): string {
  const npm = needTool("npm");
  const folder = installing("Bombadil", () =>
    cached(`bombadil-${version}`, (target) => {
      writeFileSync(join(target, "package.json"), '{"private": true}');
      const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
      run([npm, "install", ...quiet, `@antithesishq/bombadil@${version}`], target);
    }),
  );
  const system = `${process.platform}-${process.arch}`;
  return join(folder, `node_modules/@antithesishq/bombadil/binaries/bombadil-${system}`);
}

export interface Exploration {
  /** The first page. Others of the same origin may follow. */
  readonly url: string;
  /** The address of a running Chromium's DevTools, with the port. */
  readonly browser: string;
  /** The path of a file with properties. */
  readonly properties: string;
  readonly seconds: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The folder for the trace. */
  readonly into: string;
}

/**
 * Ends with the first violation, or after the time. Bombadil waits forever for a message of the browser that it could not read,
 * so an exploration that does not end in time is started again, twice at most.
 */
export async function explore(
  bombadil: string,
  options: Exploration,
): Promise<{ readonly code: number; readonly output: string }> {
  for (let attempt = 1; ; attempt += 1) {
    const child = startExploration(bombadil, options);
    let isOverdue = false;
    const stop = (): void => {
      isOverdue = true;
      child.signal("SIGKILL");
    };
    const timer = setTimeout(stop, (options.seconds + 60) * 1000);
    const code = await child.exited;
    clearTimeout(timer);
    if (!isOverdue || attempt === 3) return { code, output: child.output() };
    console.log(`Bombadil did not end in time (attempt ${attempt}). Its output: ${child.output()}`);
  }
}

function startExploration(
  bombadil: string,
  { url, browser, properties, seconds, headers = {}, into }: Exploration,
): KeptProcess {
  return startProcess(
    [
      ...[bombadil, "browser", "test-external", `--remote-debugger=http://${browser}`, "--create-target"],
      ...["--exit-on-violation", `--time-limit=${seconds}s`, `--output-path=${into}`],
      // The policy of the page forbids changed scripts.
      "--instrument-javascript=",
      ...Object.entries(headers).map(([name, value]) => `--header=${name}=${value}`),
      ...[url, properties],
    ],
    { cwd: into },
  );
}
