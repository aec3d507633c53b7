// The words that may stand before the flags, and what is wrong where another one does; with it what only the executable as a
// whole can find wrong with flags that are right one by one.

import { didYouMean } from "../core/did-you-mean.ts";
import type { Problem } from "../core/problem.ts";
import type { AnyProvider } from "./connect-cloud.ts";
import { webhookProblems } from "./endpoints/choose-webhooks.ts";
import type { ReadFlags } from "./flags/read-flags.ts";

/** In the order of the help. */
export const commands = {
  run: "Run the manager: what happens without a command, too.",
  version:
    "Show the version, as --version does; with --notices, the licences of everything inside this file.",
  "webhook-manifest":
    "Print the ValidatingWebhookConfiguration for --webhooks, for kubectl apply -f -. Give it the flags of the manager: the port and the authority in --webhook-cert-dir go in.",
  schema:
    "Print the JSON Schema of the file of --config, with that of the annotations of Services under $defs, for editors and checks.",
  help: "Show this, as --help does.",
} as const;

function wordProblem([first, ...more]: readonly string[]): Problem | undefined {
  const names = Object.keys(commands);
  const wrong = (text: string): Problem => ({ severity: "error", reason: "UnknownCommand", text });
  if (first !== undefined && !names.includes(first)) {
    const meant = didYouMean(first, names);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    return wrong(`${first} is not a command; there are ${names.join(", ")} (run is the default)${hint}`);
  }
  const [extra] = more;
  return extra === undefined
    ? undefined
    : wrong(`${extra} is not expected behind ${first}; one command is enough, and flags begin with --`);
}

export function commandProblems(
  { flags, positional, problems }: Pick<ReadFlags, "flags" | "positional" | "problems">,
  provider: Pick<AnyProvider, "name">,
): readonly Problem[] {
  const found: Problem[] = [...webhookProblems(flags)];
  // The value of a flag that is not known looks like a command; the flag is what is wrong.
  const hasUnknownFlag = problems.some(({ reason }) => reason === "UnknownFlag");
  const word = hasUnknownFlag ? undefined : wordProblem(positional);
  if (word !== undefined) found.push(word);
  const named = flags["cloud-provider"];
  if (named !== undefined && ![provider.name, "external"].includes(named)) {
    found.push({
      severity: "error",
      reason: "WrongCloud",
      text: `--cloud-provider is ${JSON.stringify(named)}, but this executable is for ${JSON.stringify(provider.name)}; start ${named}-cloud-controller-manager, or leave the flag out`,
    });
  }
  return found;
}
