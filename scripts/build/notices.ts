// The text that says whose work is inside an executable and under which terms. Compiled in, because an operator may have
// nothing but the one file. Pure.

import type { Material } from "./materials.ts";
import { runtimeParts } from "./runtime-parts.ts";

const rule = `\n${"-".repeat(80)}\n\n`;

function ofPackage({ name, version, license, text }: Material): string {
  return `${name} ${version} (${license})\n\n${text}\n`;
}

export function noticesText(own: string, bunVersion: string, materials: readonly Material[]): string {
  return [
    `Fairlead is licensed under the Apache License, version 2.0.\n\n${own.trim()}\n`,
    ...materials.map(ofPackage),
    `Bun ${bunVersion} (MIT), https://github.com/oven-sh/bun, runs the program and is part of this file. It is made of:\n\n${runtimeParts
      .map(([name, license, source]) => `  ${name} (${license})  ${source}`)
      .join("\n")}

JavaScriptCore and TinyCC are under the GNU Lesser General Public License. You may change them and link this program
anew: its sources and "npm run build" make the same file, with a Bun of your own as --runtime. How Bun is built with
another JavaScriptCore, and the full terms of all parts, is in https://github.com/oven-sh/bun/blob/main/LICENSE.md.\n`,
  ].join(rule);
}
