// The problems of Services, as the report of their manager has them: reason and text.

import type { Manager } from "../../src/app/manager/manager.ts";

/** Without a Service: those of all. */
export function problemsOf({ report }: Pick<Manager, "report">, service?: string): readonly string[] {
  return report().findings.flatMap(({ object, name, kind, reason, text }) =>
    object === "Service" && kind === "problem" && (service ?? name) === name ? `${reason} ${text}` : [],
  );
}
