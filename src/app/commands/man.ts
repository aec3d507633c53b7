// `man`: the man page of this executable.

import { version } from "../version.ts";
import type { Command } from "./command.ts";

export const manCommand: Command = {
  page: {
    name: "man",
    summary: "Print the man page, in section 8.",
    examples: [{ text: "Read it", words: "man | man -l -" }],
  },
  async run(invocation, words, pages) {
    const { program, provider, console } = invocation;
    if (invocation.refuseArguments("man", words)) return;
    // Loaded only here: the text of all flags as roff.
    const { manPage } = await import("./man-page.ts");
    await console.out(manPage(provider, { program, version }, pages));
  },
};
