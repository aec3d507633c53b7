// Runs `plan`: evaluates everything once without changing anything, prints what a start would do, and sets the exit code.

import { minutes } from "../../core/brand.ts";
import { describeEverything } from "../describe/describe-object.ts";
import { outputProblems } from "../flags/flag-problems.ts";
import { observeOnce } from "../observation/observe-once.ts";
import { planAnswer, planExitCode, planText } from "../plan/plan-answer.ts";
import { withUserKubeconfig } from "../user-kubeconfig.ts";
import type { Invocation } from "./invocation.ts";

export async function runPlan(invocation: Invocation, words: readonly string[]): Promise<void> {
  const { configuration, platform, provider, console, signal } = invocation;
  const { settings } = configuration;
  const wrongOutput = outputProblems(settings.flags);
  const problems = [...configuration.problems, ...invocation.unexpectedWords("plan", words), ...wrongOutput];
  for (const { severity, text } of problems) if (severity === "warning") invocation.writeError(text);
  if (invocation.refuse(problems)) return;
  try {
    const flags = await withUserKubeconfig(settings.flags, platform);
    const options = {
      provider,
      settings: { ...settings, flags },
      platform,
      timeout: flags.timeout ?? minutes(1),
    };
    const answer = await observeOnce(options, signal, (evaluated) =>
      planAnswer(evaluated, describeEverything(evaluated.manager, platform.clock.monotonic(), true)),
    );
    const isData = flags.output === "json";
    await console.out(isData ? `${JSON.stringify(answer, undefined, 2)}\n` : planText(answer));
    invocation.exitCode = planExitCode(answer);
  } catch (error) {
    invocation.failWith(error);
  }
}
