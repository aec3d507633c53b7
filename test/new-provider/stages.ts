// The tutorial as a machine follows it: its blocks, put section by section onto fresh skeletons in a folder that git does
// not know, and what the tests say there.

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

/** Blocks that are headed by a path, each with the title of the section it stands in. */
export const blocksOf = (markdown: string): readonly Block[] =>
  markdown.split(/^## /m).flatMap((part) =>
    [...part.matchAll(/^```ts (\S+)\n([\s\S]*?)^```$/gm)].map(([, path = "", text = ""]) => ({
      section: part.split("\n")[0] ?? "",
      path,
      text,
    })),
  );

/** Inside the repository, so that "#ccm" and the packages are found as they are for a provider of ours. */
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
  if ("wrong" in name) throw new Error(name.wrong);
  return name;
};

/** A repository in small: the skeleton alone; its test finds the suites as #ccm/testing. */
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
  /** Undefined when it passed. */
  readonly complaint: string | undefined;
}

const plain = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&apos;", "'").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** Runs one test file with the Bun that runs this, and reads its report. */
export const outcomesOf = async (testFile: string): Promise<readonly TestOutcome[]> => {
  const report = `${testFile}.xml`;
  const command = [process.execPath, "test", testFile, "--reporter=junit", `--reporter-outfile=${report}`];
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
    complaint: inside === undefined ? undefined : plain(inside),
  }));
};
