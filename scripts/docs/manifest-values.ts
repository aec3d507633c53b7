// The table of `manifests --set` values in docs/kubernetes-install.md.

import { kindsOfValue, manifestValues } from "../../src/app/manifests/read-set.ts";
import type { Field } from "../../src/core/settings.ts";
import { settingsReference } from "../../src/core/settings-reference.ts";
import { withGenerated } from "./generated-part.ts";

const begin = "<!-- generated: values -->";
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
  return withGenerated(page, begin, end, valuesTable().trimEnd());
}
