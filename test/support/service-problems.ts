// The problems of Services from the report of their manager: reason and text.

import type { Manager } from "../../src/app/manager/manager.ts";
import { isProblem, messageIn } from "../../src/core/problem.ts";

/** Without a Service, the problems of all. */
export function problemsOf({ report }: Pick<Manager, "report">, service?: string): readonly string[] {
  return report().findings.flatMap((found) =>
    found.object === "Service" && isProblem(found) && (service ?? found.name) === found.name
      ? `${found.reason} ${messageIn(found)}`
      : [],
  );
}
