// `man`: the man page of this executable, from the tables of commands, flags and settings, as roff for man(7).

import type { AnyProvider } from "../../provider/provider.ts";
import { version as programVersion } from "../build-info.ts";
import { type Entry, flagEntries, purpose, settingEntries } from "../flags/help-text.ts";
import { type Command, type CommandPage, invalidUsage, usageLines } from "./command.ts";

const outsideAscii = /[^\n -~]/gu;

const glyph = (character: string): string =>
  `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;

/** Escapes plain text. Hyphens can still be copied, and no line begins with a roff request. */
function roffText(text: string): string {
  const plain = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll(outsideAscii, glyph);
  return plain
    .split("\n")
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n");
}

export const bold = (text: string): string => `\\fB${roffText(text)}\\fP`;
const italic = (text: string): string => `\\fI${roffText(text)}\\fP`;

/** Quotes the argument of a macro. */
const roffArgument = (text: string): string => `"${roffText(text).replaceAll('"', "\\(dq")}"`;

export const heading = (title: string): string => `.SH ${roffArgument(title)}`;
const subheading = (title: string): string => `.SS ${roffArgument(title)}`;
export const paragraph = (text: string): string => `.PP\n${roffText(text)}`;

/** Formats a term with its description. */
export const item = (term: string, text: string): string => `.TP\n${term}\n${roffText(text)}`;

/** Formats lines without filling them. */
export const example = (lines: readonly string[]): string =>
  `.PP\n.nf\n${lines.map(roffText).join("\n")}\n.fi`;

function flagItem({ name, shorthand, value, text }: Entry): string {
  const names = [`--${name}`, ...(shorthand === undefined || shorthand === name ? [] : [`-${shorthand}`])];
  return item(names.map(bold).join(", ") + (value === "" ? "" : ` ${italic(value.trim())}`), text);
}

function settingItem({ name, others, text }: Entry): string {
  return item(bold(name) + (others.length === 0 ? "" : ` (${others.map(bold).join(", ")})`), text);
}

function commandSection(program: string, page: CommandPage): readonly string[] {
  const { name, summary, details = [], exitCodes = {}, examples = [] } = page;
  const codes = Object.entries(exitCodes);
  return [
    subheading(name),
    roffText(summary),
    example(usageLines(program, page)),
    ...details.map(paragraph),
    ...(codes.length === 0 ? [] : [paragraph("Exit codes:")]),
    ...codes.map(([code, meaning]) => item(bold(code), meaning)),
    ...examples.map(({ text, words }) => example([`# ${text}`, `${program} ${words}`])),
  ];
}

export function manPage(
  provider: AnyProvider,
  { program, version }: { readonly program: string; readonly version: string },
  pages: readonly CommandPage[],
): string {
  return [
    `.TH ${roffArgument(program.toUpperCase())} 8 "" ${roffArgument(`Fairlead ${version}`)} "Fairlead"`,
    heading("NAME"),
    `${roffText(program)} \\- Kubernetes cloud controller manager for ${roffText(provider.name)}`,
    heading("SYNOPSIS"),
    `${bold(program)} [${italic("command")}] [${italic("flags")}]`,
    heading("DESCRIPTION"),
    roffText(`It ${purpose}`),
    paragraph(
      "Without a command, the manager runs. Flags are parsed as in other Kubernetes components: --name value and --name=value; list flags accumulate; for other flags, the last value applies.",
    ),
    heading("COMMANDS"),
    ...pages.flatMap((page) => commandSection(program, page)),
    heading("OPTIONS"),
    ...flagEntries(provider).flatMap(([title, entries]) => [subheading(title), ...entries.map(flagItem)]),
    heading("CLOUD SETTINGS"),
    roffText(
      "Set them as environment variables, under cloud in the --config file, or with --config-set name=value. The command line takes precedence over variables, and variables over files.",
    ),
    ...settingEntries(provider).map(settingItem),
    heading("EXIT STATUS"),
    item(bold("0"), "ended on request, or the command found nothing to do"),
    item(bold("1"), "an internal error, or the API server or the cloud cannot be reached; restart it"),
    item(bold("2"), invalidUsage),
    item(bold("3"), "a command found something to do or to fix"),
    heading("SIGNALS"),
    item(
      bold("SIGTERM"),
      "finishes running work, releases the Lease and ends; a second one ends immediately",
    ),
    item(bold("SIGHUP"), "reads the configuration again"),
    heading("SEE ALSO"),
    `${bold("kubectl")}(1), ${bold("systemd")}(1)`,
    "",
  ].join("\n");
}

export const manCommand: Command = {
  page: {
    name: "man",
    summary: "Print the man page, in section 8.",
    examples: [{ text: "Read it", words: "man | man -l -" }],
  },
  async run(invocation, _words, pages) {
    const { program, provider, console } = invocation;
    await console.out(manPage(provider, { program, version: programVersion }, pages));
  },
};
