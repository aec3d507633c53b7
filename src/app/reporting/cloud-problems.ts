// What is wrong with a whole account of the cloud, said once for all whose work waits for it: that it does not answer, or does
// not know us. Said again when it lasts, with a word when it is over.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import { minutes, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../telemetry/log.ts";

type Kind = "away" | "refused";

/** While it lasts. */
const sayAgainAfter = minutes(5);
/** When it comes and goes. */
const sayAnewAfter = seconds(30);

function kindOf({ failure, status }: CloudCallReport): Kind | "answered" | "fine" | undefined {
  switch (failure) {
    case undefined:
      return "fine";
    case "unauthorized":
      return "refused";
    case "unavailable":
    case "deadline":
    case "breaker":
      return status === undefined ? "away" : undefined;
    case "aborted":
    case "fenced":
    case "unexpected":
      return undefined;
    default:
      return "answered";
  }
}

export function createCloudProblems(log: Log, clock: Pick<Clock, "monotonic">) {
  const problems = new Map<string, { readonly since: number; isReported: boolean }>();
  const reportedAt = new Map<string, number>();

  const over = (account: string, kind: Kind): void => {
    const problem = problems.get(`${kind} ${account}`);
    if (problem === undefined) return;
    problems.delete(`${kind} ${account}`);
    if (!problem.isReported) return;
    const afterSeconds = Math.round((clock.monotonic() - problem.since) / 1000);
    log.info(kind === "away" ? "The cloud answers again" : "The cloud accepts our credentials again", {
      account,
      afterSeconds,
    });
  };

  return {
    saw: (call: CloudCallReport): void => {
      const { account, message } = call;
      const kind = kindOf(call);
      if (kind === undefined) return;
      if (kind === "fine" || kind === "answered") {
        over(account, "away");
        if (kind === "fine") over(account, "refused");
        return;
      }
      const key = `${kind} ${account}`;
      const now = clock.monotonic();
      const problem = problems.get(key) ?? { since: now, isReported: false };
      problems.set(key, problem);
      const last = reportedAt.get(key);
      if (last !== undefined && now - last < (problem.isReported ? sayAgainAfter : sayAnewAfter)) return;
      reportedAt.set(key, now);
      log.warn(message ?? "The cloud does not answer", {
        account,
        ...(problem.isReported && { forSeconds: Math.round((now - problem.since) / 1000) }),
      });
      problem.isReported = true;
    },
  };
}
