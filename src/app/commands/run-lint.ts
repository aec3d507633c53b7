// Runs `lint`: reads the files, checks them, prints what is wrong and sets the exit code.

import { isFactAnnotation } from "../../controllers/service/desired/facts.ts";
import { codeOf, messageOf } from "../../core/errors.ts";
import { annotationsOf, connectCloud } from "../connect-cloud.ts";
import { Linter } from "../lint/lint-files.ts";
import { lintAnnotations, lintText } from "../lint/lint-output.ts";
import type { Invocation } from "./invocation.ts";

/** What the provider says about load balancers; undefined if the settings of the cloud are incomplete. Sends no request. */
function balancersOf({ provider, platform, configuration, signal }: Invocation) {
  const { settings, problems } = configuration;
  if (problems.some(({ severity }) => severity === "error")) return undefined;
  const { clock, random, environment } = platform;
  const refuse = () => Promise.reject(new Error("lint sends no request."));
  try {
    const { connected } = connectCloud(
      provider,
      { environment, ...settings.cloud, cluster: settings.flags["cluster-name"] },
      {
        ...{ clock, random, signal, transport: refuse },
        mayMutate: () => ({ reason: "lint changes nothing." }),
        report: () => undefined,
      },
    );
    return connected?.cloud.loadBalancers;
  } catch {
    return undefined;
  }
}

const whyUnreadable: Readonly<Record<string, string>> = {
  ENOENT: "the file does not exist",
  EISDIR: "it is a folder; pass its files, such as deploy/*.yaml",
  EACCES: "permission denied",
};

export async function runLint(invocation: Invocation, paths: readonly string[]): Promise<void> {
  const { configuration, platform, provider, console } = invocation;
  if (invocation.refuse(configuration.flagProblems)) return;
  if (paths.length === 0) {
    invocation.refuseText("lint requires at least one file; - reads from stdin");
    return;
  }
  const { facts = {} } = provider;
  const linter = new Linter({
    provider,
    environment: platform.environment,
    services: {
      table: annotationsOf(provider),
      isReadElsewhere: (key) => isFactAnnotation(facts, key),
      balancers: balancersOf(invocation),
    },
  });
  let unreadable = 0;
  for (const path of paths) {
    try {
      const text = path === "-" ? await console.stdin?.() : await platform.files.read(path);
      linter.lint({ path: path === "-" ? "stdin" : path, text: text ?? "" });
    } catch (error) {
      unreadable += 1;
      invocation.writeError(`cannot read ${path}: ${whyUnreadable[codeOf(error)] ?? messageOf(error)}`);
    }
  }
  const { result } = linter;
  const { output } = configuration.settings.flags;
  if (output === "json") await console.out(`${JSON.stringify(result, undefined, 2)}\n`);
  else await console.out((output === "github" ? lintAnnotations : lintText)(result, unreadable));
  invocation.exitCode = unreadable > 0 ? 1 : result.problems.length > 0 ? 3 : 0;
}
