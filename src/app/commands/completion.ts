// `completion`: the completion of commands, flags and their values for a shell.

import { defineCommand } from "citty";
import { didYouMean } from "../../core/did-you-mean.ts";
import type { CommandPage } from "../command-page.ts";
import type { Invocation } from "./invocation.ts";

const shells = ["bash", "zsh", "fish"] as const;

export const completionPage: CommandPage = {
  name: "completion",
  summary: "Print the completion of commands, flags and values for bash, zsh or fish.",
  usage: ["bash|zsh|fish"],
  words: shells,
  examples: [
    {
      text: "For every bash of this machine",
      words: "completion bash > /usr/share/bash-completion/completions/PROGRAM",
    },
  ],
};

export function defineCompletion(invocation: Invocation, pagesOf: () => Promise<readonly CommandPage[]>) {
  const { program, provider, console } = invocation;
  return defineCommand({
    meta: { name: completionPage.name, description: completionPage.summary },
    run: async ({ rawArgs: [word = "", ...rest] }) => {
      const shell = shells.find((one) => one === word);
      if (shell === undefined) {
        const meant = didYouMean(word, shells);
        const hint = meant === undefined ? `use ${shells.join(", ")}` : `did you mean ${meant}?`;
        invocation.refuseText(`completion knows no shell ${JSON.stringify(word)}; ${hint}`);
        return;
      }
      if (invocation.refuseArguments("completion", rest)) return;
      // Loaded only here: the manager completes nothing.
      const { completionTable } = await import("../completion/completion-table.ts");
      const { completionFor } = await import("../completion/completion-for.ts");
      const pages = await pagesOf();
      const commands = pages.map(({ name, summary, words = [], takesFiles = false }) => ({
        ...{ name, summary, takesFiles },
        words: name === "help" ? pages.map((page) => page.name) : words,
      }));
      await console.out(completionFor(shell, completionTable(program, provider, commands)));
    },
  });
}
