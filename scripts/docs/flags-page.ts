// The reference page of the flags, from the table that also reads them.

import { notesOf } from "../../src/app/flags/flag-notes.ts";
import { flagGroups } from "../../src/app/flags/table.ts";
import type { Field, Fields } from "../../src/core/settings.ts";
import { settingsReference } from "../../src/core/settings-reference.ts";

/** The reason why a flag does nothing is part of what it means. */
function explained(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries<Field<unknown>>(fields).map(([name, field]) => {
      const { noEffect, deprecated } = notesOf(field);
      const old = deprecated === true ? "Deprecated. " : "";
      const nothing = noEffect === undefined ? "" : ` No effect: ${noEffect}.`;
      return [name, { ...field, text: `${old}${field.text}${nothing}` }];
    }),
  );
}

const heading = (title: string): string => `## ${title.charAt(0).toUpperCase()}${title.slice(1)}`;

export function flagsPage(): string {
  return [
    "# Flags",
    "",
    "Made by `npm run docs` from the tables in `src/app/flags`; never edited by hand. Flags are read as pflag reads them:",
    "`--name value` and `--name=value`, list flags add up, the last of a scalar counts, what is unknown is refused with the",
    "nearest name. The groups are those of upstream's help. What has no effect is accepted, and said once when it is given.",
    "",
    ...flagGroups.flatMap(({ title, fields }) => [
      heading(title),
      "",
      settingsReference(explained(fields), "--"),
    ]),
  ].join("\n");
}
