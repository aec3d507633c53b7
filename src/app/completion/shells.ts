// The completion scripts for bash, zsh, fish and PowerShell, which need nothing but the shell. Each script calls the program, as
// kubectl's scripts do. Pure.

/** The hidden first word with which a shell requests completions, as in cobra; the words of the command line follow. */
export const askedByShell = "__complete";

/** A function name that every shell accepts. */
const functionName = (program: string): string => `_${program.replaceAll(/[^A-Za-z0-9]/g, "_")}`;

const scripts = {
  bash: (
    program: string,
    name: string,
  ) => `# bash completion for ${program}. To load it: source <(${program} completion bash)

${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" flag="" lines line
  # bash splits --flag=value at the equals sign, and completes only what follows it.
  [ "$previous" = "=" ] && flag="--*="
  [ "$current" = "=" ] && flag="--*=" current=""
  mapfile -t lines < <("\${COMP_WORDS[0]/#\\~/$HOME}" ${askedByShell} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
  COMPREPLY=()
  for line in "\${lines[@]}"; do
    case "$line" in
      :0) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
      :*) ;;
      *) line="\${line%%$'\\t'*}"; COMPREPLY+=("\${line#$flag}") ;;
    esac
  done
}

complete -F ${name} ${program}
`,
  zsh: (program: string, name: string) => `#compdef ${program}
# zsh completion for ${program}. Save it as ${name} in a folder of fpath, or: source <(${program} completion zsh)

${name}() {
  local -a lines offers
  lines=("\${(@f)$(\${~words[1]} ${askedByShell} "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ "$lines[-1]" == ":0" ]]; then
    compset -P '--*='
    _files
    return
  fi
  shift -p lines
  offers=(\${\${lines//:/\\\\:}//$'\\t'/:})
  _describe word offers
}

if [ "$funcstack[1]" = "${name}" ]; then
  ${name} "$@"
else
  compdef ${name} ${program}
fi
`,
  fish: (
    program: string,
    name: string,
  ) => `# fish completion for ${program}. To load it: ${program} completion fish | source

function ${name}
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l program $words[1]
  set -e words[1]
  set -l lines ($program ${askedByShell} $words "$current" 2> /dev/null)
  if test "$lines[-1]" = ":0"
    __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
  else
    string match -v -r '^:' -- $lines
  end
end

complete -c ${program} -f -a '(${name})'
`,
  powershell: (
    program: string,
  ) => `# PowerShell completion for ${program}. To load it: ${program} completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName '${program}' -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object {
    $length = $cursorPosition - $_.Extent.StartOffset
    if ($length -gt 0) { $_.Extent.Text.Substring(0, [Math]::Min($length, $_.Extent.Text.Length)) }
  })
  # Before 7.3, an empty argument needs quotes that reach the program.
  $isQuoted = "$PSNativeCommandArgumentPassing" -notin 'Standard', 'Windows'
  if ($wordToComplete -eq '') { $words += $(if ($isQuoted) { '""' } else { '' }) }
  $program = $commandAst.GetCommandName()
  $lines = @(& $program ${askedByShell} @words 2> $null)
  # Without an answer, PowerShell completes paths.
  if ($lines.Count -eq 0 -or $lines[-1] -eq ':0') { return }
  if ($lines.Count -eq 1) { return '' }
  $lines | Select-Object -SkipLast 1 | ForEach-Object {
    $offer, $text = $_ -split "\`t", 2
    $tip = if ($text) { $text } else { $offer }
    [System.Management.Automation.CompletionResult]::new($offer, $offer, 'ParameterValue', $tip)
  }
}
`,
} as const;

export type Shell = keyof typeof scripts;
export const shells = Object.keys(scripts) as readonly Shell[];

export const completionFor = (shell: Shell, program: string): string =>
  scripts[shell](program, functionName(program));
