// `completion`: the completion of commands, flags and their values for a shell.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Command, CommandPage } from "./command.ts";
import type { Invocation } from "./invocation.ts";

const shells = ["bash", "zsh", "fish"] as const;

async function tableOf({ program, provider }: Invocation, pages: readonly CommandPage[]) {
  // Loaded only here: the manager completes nothing.
  const { completionTable } = await import("../completion/completion-table.ts");
  const commands = pages.map(({ name, summary, words = [], takesFiles = false }) => ({
    ...{ name, summary, takesFiles },
    words: name === "help" ? pages.map((page) => page.name) : words,
  }));
  return completionTable(program, provider, commands);
}

/** kubectl starts kubectl_complete-NAME with the words of the command line, to complete the last one. */
export async function completeForKubectl(
  invocation: Invocation,
  pages: readonly CommandPage[],
  words: readonly string[],
): Promise<void> {
  const { cobraText, completeWords } = await import("../completion/shells.ts");
  await invocation.console.out(cobraText(completeWords(await tableOf(invocation, pages), words)));
}

export const completionCommand: Command = {
  page: {
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
  },
  async run(invocation, [word = "", ...rest], pages) {
    const shell = shells.find((one) => one === word);
    if (shell === undefined) {
      const meant = didYouMean(word, shells);
      const hint = meant === undefined ? `use ${shells.join(", ")}` : `did you mean ${meant}?`;
      const problem = word === "" ? "requires a shell" : `knows no shell ${JSON.stringify(word)}`;
      invocation.refuseText(`completion ${problem}; ${hint}`);
      return;
    }
    if (invocation.refuse(invocation.unexpectedWords("completion", rest))) return;
    const { completionFor } = await import("../completion/shells.ts");
    await invocation.console.out(completionFor(shell, await tableOf(invocation, pages)));
  },
};
