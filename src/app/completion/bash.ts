// The completion for bash. It needs nothing but bash. Pure.

import { type CompletedFlag, type CompletionTable, functionName, quote } from "./completion-table.ts";

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
