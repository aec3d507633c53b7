// The common parts of the scripts that run special tests: the choice of files, the executables and the control planes.

import { join, resolve } from "node:path";
import { fail } from "./command-line.ts";

export const root: string = resolve(import.meta.dir, "..");

/** The files with one of the first words in their path, and the rest of the words, which are options of `bun test`. */
export function chooseTests(
  kind: string,
  words: readonly string[],
  all: readonly string[],
): { readonly files: readonly string[]; readonly flags: readonly string[] } {
  const flagsAt = words.findIndex((word) => word.startsWith("-"));
  const parts = flagsAt === -1 ? words : words.slice(0, flagsAt);
  const files = all.filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
  if (files.length === 0) {
    const list = all.map((path) => `  ${path}\n`).join("");
    fail(`No ${kind} test file has ${parts.join(" or ")} in its name. There are:\n${list}`);
  }
  return { files, flags: flagsAt === -1 ? [] : words.slice(flagsAt) };
}

export function filesLike(pattern: string): readonly string[] {
  return [...new Bun.Glob(pattern).scanSync({ cwd: root })].toSorted();
}

/** Builds the executable of a cloud into the folder, where no other build replaces it, and returns its path. */
export function buildInto(folder: string, cloud: string, stdout: "inherit" | "ignore" = "inherit"): string {
  const command = [process.execPath, "scripts/build.ts", cloud, "--outdir", folder];
  const built = Bun.spawnSync(command, { cwd: root, stdio: ["ignore", stdout, "inherit"] });
  if (built.exitCode !== 0) throw new Error(`The executable of ${cloud} could not be built.`);
  return join(folder, `${cloud}-cloud-controller-manager`);
}

/** Runs `bun test` and returns its exit code. A signal ends the tests first. */
export async function runTests(
  flags: readonly string[],
  files: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const runner = Bun.spawn([process.execPath, "test", ...flags, ...files.map((path) => `./${path}`)], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  });
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => runner.kill(name));
  return await runner.exited;
}

/** Ends every control plane that started, even if another one could not start. */
export async function withPlanes<T extends { readonly stop: () => Promise<void> }>(
  count: number,
  start: (index: number) => Promise<T>,
  work: (planes: readonly T[]) => Promise<number>,
): Promise<number> {
  const started = await Promise.allSettled(Array.from({ length: count }, (_, index) => start(index)));
  const planes = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  try {
    for (const each of started) if (each.status === "rejected") throw each.reason;
    return await work(planes);
  } finally {
    await Promise.all(planes.map((plane) => plane.stop()));
  }
}
