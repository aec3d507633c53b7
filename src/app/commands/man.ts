// `man`: the man page of this executable, from the tables of commands, flags and settings, as roff for man(7).

import { everyField, type Field } from "../../core/settings.ts";
import { version as programVersion } from "../build-info.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import { notesOf } from "../flags/flag-notes.ts";
import { flagGroups } from "../flags/flag-table.ts";
import { defaultText, flagValue } from "../flags/help-text.ts";
import { withPresets } from "../flags/provider-flags.ts";
import { type Command, type CommandPage, invalidUsage, usageLines } from "./command.ts";

const outsideAscii = /[^\n -~]/gu;

const glyph = (character: string): string =>
  `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;

/** Plain text. Hyphens stay hyphens that can be copied; a line never begins with a request. */
export function roffText(text: string): string {
  const plain = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll(outsideAscii, glyph);
  return plain
    .split("\n")
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n");
}

export const bold = (text: string): string => `\\fB${roffText(text)}\\fP`;
export const italic = (text: string): string => `\\fI${roffText(text)}\\fP`;

/** The argument of a macro. */
export const roffArgument = (text: string): string => `"${roffText(text).replaceAll('"', "\\(dq")}"`;

export const heading = (title: string): string => `.SH ${roffArgument(title)}`;
export const subheading = (title: string): string => `.SS ${roffArgument(title)}`;
export const paragraph = (text: string): string => `.PP\n${roffText(text)}`;

/** A term with its description. */
export const item = (term: string, text: string): string => `.TP\n${term}\n${roffText(text)}`;

/** Lines as they are. */
export const example = (lines: readonly string[]): string =>
  `.PP\n.nf\n${lines.map(roffText).join("\n")}\n.fi`;

function flagItem(name: string, field: Field<unknown>): string {
  const { shorthand, noEffect, commands } = notesOf(field);
  const value = flagValue(field).trim();
  const names = [`--${name}`, ...(shorthand === undefined || shorthand === name ? [] : [`-${shorthand}`])];
  const term = names.map(bold).join(", ") + (value === "" ? "" : ` ${italic(value)}`);
  const only = commands === undefined ? "" : ` Only for ${commands.join(", ")}.`;
  const nothing = noEffect === undefined ? "" : ` No effect: ${noEffect}.`;
  return item(term, `${field.text}${only}${nothing}${defaultText(field)}`);
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
  { name: cloud, config, presets }: AnyProvider,
  { program, version }: { readonly program: string; readonly version: string },
  pages: readonly CommandPage[],
): string {
  const groups = flagGroups.flatMap(({ title, fields }) => {
    const shown = Object.entries(withPresets(fields, presets)).filter(
      ([, field]) => notesOf(field).deprecated !== true,
    );
    const name = `${title.charAt(0).toUpperCase()}${title.slice(1)}`;
    return shown.length === 0
      ? []
      : [subheading(name), ...shown.map(([flag, field]) => flagItem(flag, field))];
  });
  const settings = everyField(config).map(([name, field]) => {
    const others = [field.env ?? [], field.flag === undefined ? [] : `--${field.flag}`].flat();
    const term = bold(name) + (others.length === 0 ? "" : ` (${others.map(bold).join(", ")})`);
    return item(term, `${field.text}${defaultText(field)}`);
  });
  return [
    `.TH ${roffArgument(program.toUpperCase())} 8 "" ${roffArgument(`Fairlead ${version}`)} "Fairlead"`,
    heading("NAME"),
    `${roffText(program)} \\- cloud controller manager of Kubernetes for ${roffText(cloud)}`,
    heading("SYNOPSIS"),
    `${bold(program)} [${italic("command")}] [${italic("flags")}]`,
    heading("DESCRIPTION"),
    roffText(
      "It integrates a Kubernetes cluster with its cloud: it initializes Nodes, deletes Nodes whose instance no longer exists, and manages load balancers for Services and routes to pods.",
    ),
    paragraph(
      "Without a command, the manager runs. Flags are parsed as by other Kubernetes components: --name value and --name=value; lists accumulate; of other flags the last value applies.",
    ),
    heading("COMMANDS"),
    ...pages.flatMap((page) => commandSection(program, page)),
    heading("OPTIONS"),
    ...groups,
    heading("SETTINGS OF THE CLOUD"),
    roffText(
      "As environment variables, under cloud in the file of --config, or with --config-set name=value. The command line takes precedence over variables, and variables over files.",
    ),
    ...settings,
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
