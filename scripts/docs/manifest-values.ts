// The table of `manifests --set` values in docs/kubernetes-install.md.

import { kindsOfValue, manifestValues } from "../../src/app/manifests/read-set.ts";
import type { Field } from "../../src/core/settings.ts";
import { settingsReference } from "../../src/core/settings-reference.ts";

const begin = "<!-- generated: values -->\n";
const end = "<!-- end -->";

function valuesTable(): string {
  const fields = Object.fromEntries(
    Object.entries<Field<unknown>>(manifestValues).map(([name, field]) => {
      const kinds = kindsOfValue[name as keyof typeof manifestValues].join(", ");
      return [name, { ...field, text: `${field.text} For ${kinds}.` }];
    }),
  );
  return settingsReference(fields);
}

/** The page with the current table. */
export function withValuesTable(page: string): string {
  const [before, rest] = page.split(begin);
  const after = rest?.slice(rest.indexOf(end));
  if (before === undefined || after === undefined) throw new Error(`The page has no ${begin.trim()}`);
  return `${before}${begin}\n${valuesTable()}\n${after}`;
}
