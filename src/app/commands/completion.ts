// `completion`: the completion of commands, flags and their values for a shell.

import { didYouMean } from "../../core/did-you-mean.ts";
import { askedByShell, completionFor, shells } from "../completion/shells.ts";
import { pluginFile } from "../plugin-name.ts";
import type { Command, CommandPage } from "./command.ts";
import type { Invocation } from "./invocation.ts";

/**
 * The words to complete if a shell or kubectl requests completion, else undefined. kubectl starts kubectl_complete-NAME with the
 * words of the command line.
 */
export function wordsToComplete({ isCompletion }: Invocation, args: readonly string[]) {
  if (isCompletion) return args;
  return args[0] === askedByShell ? args.slice(1) : undefined;
}

export async function complete(
  { provider, console }: Invocation,
  pages: readonly CommandPage[],
  words: readonly string[],
): Promise<void> {
  // Loaded here because the manager completes nothing.
  const { completeWords } = await import("../completion/complete-words.ts");
  await console.out(completeWords(provider, pages, words));
}

export const completionCommand: Command = {
  page: {
    name: "completion",
    summary: "Print the shell completion for bash, zsh, fish or PowerShell.",
    usage: ["bash|zsh|fish|powershell"],
    words: shells,
    examples: [
      {
        text: "For all bash users of this machine",
        words: "completion bash > /usr/share/bash-completion/completions/PROGRAM",
      },
    ],
  },
  async run(invocation, [word = "", ...rest]) {
    const shell = shells.find((one) => one === word);
    if (shell === undefined) {
      const meant = didYouMean(word, shells);
      const hint = meant === undefined ? `use ${shells.join(", ")}` : `did you mean ${meant}?`;
      const problem = word === "" ? "requires a shell" : `knows no shell ${JSON.stringify(word)}`;
      invocation.refuseText(`completion ${problem}; ${hint}`);
      return;
    }
    if (invocation.refuse(invocation.unexpectedWords("completion", rest))) return;
    const { console, program } = invocation;
    await console.out(completionFor(shell, pluginFile(console.invokedAs ?? "") ?? program));
  },
};
