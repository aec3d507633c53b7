// The third-party notices that `--notices` prints: the contents of an executable, and their licenses. Pure.

import type { Material } from "./materials.ts";
import { runtimeParts } from "./runtime-parts.ts";

const rule = `\n${"-".repeat(80)}\n\n`;

function packageNotice({ name, version, license, text }: Material): string {
  return `${name} ${version} (${license})\n\n${text}\n`;
}

export function noticesText(own: string, bunVersion: string, materials: readonly Material[]): string {
  return [
    `Fairlead is licensed under the Apache License, version 2.0.\n\n${own.trim()}\n`,
    ...materials.map(packageNotice),
    `Bun ${bunVersion} (MIT), https://github.com/oven-sh/bun, is the runtime embedded in this file. It contains:\n\n${runtimeParts
      .map(([name, license, source]) => `  ${name} (${license})  ${source}`)
      .join("\n")}

JavaScriptCore and TinyCC are licensed under the GNU Lesser General Public License. You may modify them and relink this
program: build it from its sources with "npm run build" and pass your own Bun with --runtime. How to build Bun with
another JavaScriptCore, and the full license terms, are in https://github.com/oven-sh/bun/blob/main/LICENSE.md.\n`,
  ].join(rule);
}
