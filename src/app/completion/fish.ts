// The completion for fish. Pure.

import { type CompletedFlag, type CompletionTable, quote } from "./completion-table.ts";

/** In single quotes of fish, only the quote and the backslash are escaped. */
const fishQuote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const valueOptions = { none: "", file: " -r -F", text: " -x", words: "" } as const;

function flagLine(
  program: string,
  { name, shorthand, text, value, choices, commands }: CompletedFlag,
): string {
  const short = shorthand === undefined || shorthand === name ? "" : ` -s ${shorthand}`;
  const long = name.length === 1 ? ` -s ${name}` : ` -l ${name}`;
  const condition =
    commands === undefined ? "" : ` -n ${fishQuote(`__fish_seen_subcommand_from ${commands.join(" ")}`)}`;
  const values = value === "words" ? ` -x -a ${fishQuote(choices.join(" "))}` : valueOptions[value];
  return `complete -c ${program}${condition}${short}${long}${values} -d ${fishQuote(text)}`;
}

export function fishCompletion({ program, commands, flags }: CompletionTable): string {
  const names = commands.map(({ name }) => name).join(" ");
  return [
    `# fish completion for ${program}. To load it: ${program} completion fish | source`,
    `complete -c ${program} -f`,
    ...commands.map(
      ({ name, summary }) =>
        `complete -c ${program} -n ${fishQuote(`not __fish_seen_subcommand_from ${names}`)} -a ${quote(name)} -d ${fishQuote(summary)}`,
    ),
    ...commands.flatMap(({ name, words, takesFiles }) => {
      const seen = fishQuote(
        `__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${words.join(" ")}`,
      );
      if (takesFiles)
        return [`complete -c ${program} -n ${fishQuote(`__fish_seen_subcommand_from ${name}`)} -F`];
      return words.length === 0 ? [] : [`complete -c ${program} -n ${seen} -a ${fishQuote(words.join(" "))}`];
    }),
    ...flags.map((flag) => flagLine(program, flag)),
    "",
  ].join("\n");
}
