// The problems of one Service, as the report of its manager has them: reason and text.

import type { Manager } from "../../src/app/manager/manager.ts";

export function problemsOf(manager: Pick<Manager, "report">, service: string): readonly string[] {
  return manager.report().serviceProblems.find((one) => one.service === service)?.problems ?? [];
}
