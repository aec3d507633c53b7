// The completion scripts for bash, zsh and fish, which need nothing but the shell; and the completion by kubectl. Pure.

import {
  type CompletedCommand,
  type CompletedFlag,
  type CompletionTable,
  functionName,
  quote,
} from "./completion-table.ts";

const optionsOf = ({ name, shorthand }: CompletedFlag): string =>
  [`--${name}`, ...(shorthand === undefined || shorthand.length > 1 ? [] : [`-${shorthand}`])].join("|");

export function bashCompletion({ program, commands, flags }: CompletionTable): string {
  const name = functionName(program);
  const valued = flags.filter(({ value }) => value === "file" || value === "text");
  const patterns = (value: CompletedFlag["value"]): string =>
    valued
      .filter((flag) => flag.value === value)
      .map(optionsOf)
      .join("|");
  const general = flags.filter((flag) => flag.commands === undefined).map((flag) => `--${flag.name}`);
  const ownOf = (command: string): readonly string[] =>
    flags.filter((flag) => flag.commands?.includes(command) === true).map((flag) => `--${flag.name}`);
  const names = commands.map((command) => command.name);
  return `# bash completion for ${program}. To load it: source <(${program} completion bash)

${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="" flag="" command="" own="" word
  COMPREPLY=()
  [ "$COMP_CWORD" -gt 0 ] && previous="\${COMP_WORDS[COMP_CWORD-1]}"
  # bash splits --flag=value at the equals sign.
  if [ "$current" = "=" ]; then
    flag="$previous" current=""
  elif [ "$previous" = "=" ]; then
    flag="\${COMP_WORDS[COMP_CWORD-2]}"
  else
    flag="$previous"
  fi
  case "$flag" in
${flags
  .filter(({ value }) => value === "words")
  .map(
    (flag) =>
      `    ${optionsOf(flag)}) mapfile -t COMPREPLY < <(compgen -W ${quote(flag.choices.join(" "))} -- "$current"); return ;;`,
  )
  .join("\n")}
    ${patterns("file")}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    ${patterns("text")}) return ;;
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${names.join("|")}) command="$word"; break ;;
    esac
  done
  case "$command" in
${commands
  .map(({ name: one }) => [one, ownOf(one)] as const)
  .filter(([, own]) => own.length > 0)
  .map(([one, own]) => `    ${one}) own=${quote(own.join(" "))} ;;`)
  .join("\n")}
  esac
  if [ "\${current#-}" != "$current" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$own "${quote(general.join(" "))} -- "$current")
    return
  fi
  case "$command" in
    "") mapfile -t COMPREPLY < <(compgen -W ${quote(names.join(" "))} -- "$current") ;;
${commands
  .flatMap(({ name: one, words, takesFiles }) => {
    if (takesFiles)
      return [`    ${one}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;`];
    const onlyFirst = `[ "$previous" = ${one} ] && mapfile -t COMPREPLY < <(compgen -W ${quote(words.join(" "))} -- "$current")`;
    return words.length === 0 ? [] : [`    ${one}) ${onlyFirst} ;;`];
  })
  .join("\n")}
  esac
}

complete -F ${name} ${program}
`;
}

// The completion for zsh, for a folder of fpath or to be sourced.

/** Characters with a meaning in the specifications of _arguments and _describe. */
const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll(/[[\]:]/g, "\\$&");

const actions = { none: "", file: ":file:_files", text: ":value: ", words: "" } as const;

function specOf({ name, shorthand, text, value, choices }: CompletedFlag): string {
  const action = value === "words" ? `:value:(${choices.join(" ")})` : actions[value];
  const long = value === "none" ? `--${name}` : `--${name}=`;
  const about = `[${escaped(text)}]${action}`;
  if (shorthand === undefined || shorthand === name) return quote(`${long}${about}`);
  return `${quote(`(-${shorthand} --${name})`)}{-${shorthand},${long}}${quote(about)}`;
}

function argumentsOf(command: CompletedCommand, flags: readonly CompletedFlag[]): string {
  const { name, words, takesFiles } = command;
  const own = flags.filter((flag) => flag.commands?.includes(name) === true).map(specOf);
  const first = takesFiles
    ? ["'*:file:_files'"]
    : words.length === 0
      ? []
      : [quote(`1:word:(${words.join(" ")})`)];
  return `      ${name}) _arguments -s \\\n        ${[...own, '"$general[@]"', ...first].join(" \\\n        ")} ;;`;
}

export function zshCompletion({ program, commands, flags }: CompletionTable): string {
  const name = functionName(program);
  const general = flags.filter((flag) => flag.commands === undefined);
  return `#compdef ${program}
# zsh completion for ${program}. Save it as ${name} in a folder of fpath, or: source <(${program} completion zsh)

${name}() {
  local curcontext="$curcontext" state line
  local -a commands general
  commands=(
${commands.map((command) => `    ${quote(`${command.name}:${escaped(command.summary)}`)}`).join("\n")}
  )
  general=(
${general.map((flag) => `    ${specOf(flag)}`).join("\n")}
  )
  _arguments -s -C "$general[@]" '1: :->command' '*:: :->rest'
  case "$state" in
    command) _describe command commands ;;
    rest)
      case "$line[1]" in
${commands.map((command) => argumentsOf(command, flags)).join("\n")}
      esac ;;
  esac
}

if [ "$funcstack[1]" = "${name}" ]; then
  ${name} "$@"
else
  compdef ${name} ${program}
fi
`;
}

// The completion for fish.

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

// The completion for each shell.

const byShell = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export const completionFor = (shell: keyof typeof byShell, table: CompletionTable): string =>
  byShell[shell](table);

// The completion of one word of a command line, for kubectl, which asks its plugins in the protocol of cobra.

export interface Offers {
  /** With a description behind a tab, where there is one. */
  readonly words: readonly string[];
  /** The word is a file. */
  readonly files: boolean;
}

const nothing: Offers = { words: [], files: false };
const files: Offers = { words: [], files: true };

function valuesOf({ value, choices }: CompletedFlag, begun: string, prefix = ""): Offers {
  if (value === "file") return files;
  const fitting = choices.filter((choice) => choice.startsWith(begun));
  return { words: fitting.map((choice) => prefix + choice), files: false };
}

/** The last of the words is completed; it may be empty. */
export function completeWords({ commands, flags }: CompletionTable, given: readonly string[]): Offers {
  const [current = "", previous = ""] = given.toReversed();
  const flagOf = (written: string): CompletedFlag | undefined =>
    flags.find(({ name, shorthand }) => written === `--${name}` || written === `-${shorthand}`);
  const [written = "", value] = current.split(/=(.*)/s);
  const own = flagOf(written);
  if (value !== undefined) return own === undefined ? nothing : valuesOf(own, value, `${written}=`);
  const before = flagOf(previous);
  if (before !== undefined && before.value !== "none") return valuesOf(before, current);
  const command = given.slice(0, -1).flatMap((word) => commands.find(({ name }) => name === word) ?? [])[0];
  if (current.startsWith("-")) {
    const accepted = flags.filter(({ commands: only }) => only?.includes(command?.name ?? "") ?? true);
    const fitting = accepted.filter(({ name }) => `--${name}`.startsWith(current));
    return { words: fitting.map(({ name, text }) => `--${name}\t${text}`), files: false };
  }
  if (command === undefined) {
    const fitting = commands.filter(({ name }) => name.startsWith(current));
    return { words: fitting.map(({ name, summary }) => `${name}\t${summary}`), files: false };
  }
  if (command.takesFiles) return files;
  const isFirst = previous === command.name;
  return { words: isFirst ? command.words.filter((word) => word.startsWith(current)) : [], files: false };
}

/** In the format of cobra: a line for each offer, and what the shell may do besides. */
export function cobraText({ words, files: isFile }: Offers): string {
  const noFiles = 4;
  return `${words.map((word) => `${word}\n`).join("")}:${isFile ? 0 : noFiles}\n`;
}
