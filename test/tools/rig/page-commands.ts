// The shell commands of a documented page, so that tests run exactly the commands that users read.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../../..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
};

/** The code blocks in a section of docs/install.md, adapted to the simulated cloud, this version, and root. */
export function installCommands(heading: string): readonly string[] {
  const page = readFileSync(join(root, "docs/install.md"), "utf8");
  const [, section = ""] = page.split(`## ${heading}\n`);
  const blocks = [...(section.split("\n## ")[0] ?? "").matchAll(/```sh\n([\s\S]*?)```/g)];
  return blocks.map(([, block = ""]) =>
    block.replaceAll("hetzner", "fake").replaceAll("sudo ", "").replaceAll("0.1.0", version),
  );
}
