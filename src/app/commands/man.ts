// `man`: the man page of this executable.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import { version } from "../version.ts";
import type { Invocation } from "./invocation.ts";

export const manCommandPage: CommandPage = {
  name: "man",
  summary: "Print the man page, in section 8.",
  examples: [{ text: "Read it", words: "man | man -l -" }],
};

export function defineMan(invocation: Invocation, pagesOf: () => Promise<readonly CommandPage[]>) {
  const { program, provider, console } = invocation;
  return defineCommand({
    meta: { name: manCommandPage.name, description: manCommandPage.summary },
    run: async ({ rawArgs }) => {
      if (invocation.refuseArguments("man", rawArgs)) return;
      // Loaded only here: the text of all flags as roff.
      const { manPage } = await import("../man/man-page.ts");
      await console.out(manPage(provider, { program, version }, await pagesOf()));
    },
  });
}
