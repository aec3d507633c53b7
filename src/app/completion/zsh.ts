// The completion for zsh, for a folder of fpath or to be sourced. Pure.

import {
  type CompletedCommand,
  type CompletedFlag,
  type CompletionTable,
  functionName,
  quote,
} from "./completion-table.ts";

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
