// The completion for each shell. Pure.

import { bashCompletion } from "./bash.ts";
import type { CompletionTable } from "./completion-table.ts";
import { fishCompletion } from "./fish.ts";
import { zshCompletion } from "./zsh.ts";

const byShell = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export const completionFor = (shell: keyof typeof byShell, table: CompletionTable): string =>
  byShell[shell](table);
