// Follows the tutorial docs/write-a-provider.md: copies its code blocks, section by section, into fresh skeletons in
// an ignored folder, and runs their tests.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readName } from "../../scripts/new-provider/provider-name.ts";
import { repository, skeletonOf } from "../../scripts/new-provider/skeleton.ts";
import { writeSkeleton } from "../../scripts/new-provider/write-skeleton.ts";

export const tutorial = readFileSync(join(repository, "docs/write-a-provider.md"), "utf8");

export interface Block {
  readonly section: string;
  readonly path: string;
  readonly text: string;
}

/** The code blocks that name a file, each with the title of its section. */
export const blocksOf = (markdown: string): readonly Block[] =>
  markdown.split(/^## /m).flatMap((part) =>
    [...part.matchAll(/^```ts (\S+)\n([\s\S]*?)^```$/gm)].map(([, path = "", text = ""]) => ({
      section: part.split("\n")[0] ?? "",
      path,
      text,
    })),
  );

/** Inside the repository, so that "#ccm" and packages resolve as for a provider in `providers/`. */
export const scratchFolder = (): string => {
  const cache = join(repository, ".cache");
  mkdirSync(cache, { recursive: true });
  return mkdtempSync(join(cache, "new-provider-"));
};

const put = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

export const meadow = () => {
  const name = readName("meadow", []);
  if ("error" in name) throw new Error(name.error);
  return name;
};

/** Writes a fresh skeleton below `root`. */
export const freshStage = (root: string): void => {
  writeSkeleton(skeletonOf(meadow(), { kind: "inside", root }));
};

export const follow = (root: string, blocks: readonly Block[]): void => {
  for (const { path, text } of blocks) put(join(root, path), text);
};

export interface Finished {
  readonly code: number;
  readonly output: string;
}

export const run = async (command: readonly string[], cwd: string = repository): Promise<Finished> => {
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [code, ...texts] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code, output: texts.join("") };
};

export interface TestOutcome {
  readonly suite: string;
  readonly title: string;
  /** Undefined when the test passed. */
  readonly failure: string | undefined;
}

const plain = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&apos;", "'").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** Runs a test file and reads its JUnit report. */
export const outcomesOf = async (testFile: string): Promise<readonly TestOutcome[]> => {
  const report = `${testFile}.xml`;
  const command = [
    process.execPath,
    "test",
    "--timeout=120000",
    testFile,
    "--reporter=junit",
    `--reporter-outfile=${report}`,
  ];
  const { output } = await run(command);
  const xml = await Bun.file(report)
    .text()
    .catch(() => {
      throw new Error(output);
    });
  rmSync(report);
  return [
    ...xml.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]*?(\/>|>([\s\S]*?)<\/testcase>)/g),
  ].map(([, title = "", suite = "", , inside]) => ({
    suite: plain(suite),
    title: plain(title),
    failure: inside === undefined ? undefined : plain(inside),
  }));
};
