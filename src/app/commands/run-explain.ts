// Runs `explain`: reads its words, prints the answer and sets the exit code.

import type { Problem } from "../../core/problem.ts";
import { answerText, exitCodeOf, notFoundText } from "../explain/explain-answer.ts";
import { readExplainRequest } from "../explain/explain-request.ts";
import { Explanation } from "../explain/explanation.ts";
import { serverProblems } from "../explain/find-manager.ts";
import { invalidFlag, outputProblems } from "../flags/flag-problems.ts";
import type { Flags } from "../flags/table.ts";
import { withUserKubeconfig } from "../user-kubeconfig.ts";
import type { Invocation } from "./invocation.ts";

/** Why the command cannot start; exit code 2. */
function flagProblems(flags: Flags): readonly Problem[] {
  const { server, offline } = flags;
  const problems: Problem[] = [...outputProblems(flags)];
  problems.push(...serverProblems(server));
  if (offline && server !== undefined)
    problems.push(invalidFlag("offline", "and --server contradict each other; omit one of them"));
  return problems;
}

export async function runExplain(invocation: Invocation, words: readonly string[]): Promise<void> {
  const { configuration, platform, console } = invocation;
  const given = configuration.settings.flags;
  if (invocation.refuse([...configuration.flagProblems, ...flagProblems(given)])) return;
  const first = readExplainRequest(words, "default");
  if ("wrong" in first) return invocation.refuseText(first.wrong);
  try {
    const explanation = new Explanation(
      { ...invocation, flags: await withUserKubeconfig(given, platform) },
      invocation.signal,
    );
    const request = readExplainRequest(words, await explanation.namespace());
    if ("wrong" in request) return invocation.refuseText(request.wrong);
    const answer = await explanation.answer(request.object);
    if (given.output === "json") await console.out(`${JSON.stringify(answer, undefined, 2)}\n`);
    else if (answer.notFound === undefined)
      await console.out(answerText(answer, request.object === undefined));
    if (answer.notFound !== undefined) invocation.writeError(notFoundText(answer.notFound));
    invocation.exitCode = exitCodeOf(answer);
  } catch (error) {
    invocation.failWith(error);
  }
}
