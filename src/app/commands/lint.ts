// `lint`: checks Services and configuration files, for CI.

import { messageOf, runtimeCodeOf } from "../../core/error-message.ts";
import { messageIn } from "../../core/problem.ts";
import { lintAnnotations, lintText } from "../../inspect/lint/lint-result.ts";
import { annotationsWithDefaults } from "../configuration/cloud-settings.ts";
import { connectCloud } from "../connect-cloud.ts";
import { classesOf } from "../flags/controller-settings.ts";
import type { Command } from "./command.ts";
import type { Invocation } from "./invocation.ts";

/** The provider's load balancer definition; undefined if the cloud settings are invalid. Sends no request. */
function balancersOf({ provider, platform, configuration, signal }: Invocation) {
  const { settings, problems } = configuration;
  const errors = problems.filter(({ severity }) => severity === "error");
  if (errors.some(({ reason }) => reason !== "MissingSetting")) return undefined;
  // Supported load balancer features do not depend on credentials, which are absent in CI.
  const placeholders = errors.flatMap(({ key }) =>
    key === undefined ? [] : ([[key, "placeholder"]] as const),
  );
  const given = new Map([...settings.cloud.given, ...placeholders]);
  const { clock, random, environment } = platform;
  const refuse = () => Promise.reject(new Error("lint sends no request."));
  try {
    const { connected } = connectCloud(
      provider,
      { environment, ...settings.cloud, given, cluster: settings.flags["cluster-name"] },
      {
        clock,
        random,
        signal,
        transport: refuse,
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

export const lintCommand: Command = {
  page: {
    name: "lint",
    summary:
      "Check Services, Nodes, --config files and the --cloud-config file before they are applied, without a cluster; for CI.",
    usage: ["FILE...", "-"],
    details: [
      "Files are YAML or JSON, with any number of documents; - reads from stdin. Services of type LoadBalancer are checked for annotations, source ranges, ports and names; other Services for the values of these annotations; Nodes for Fairlead's annotations; configuration files for flags, cloud settings and the provider's checks. Other objects are ignored.",
      "lint reports requests that the cloud's load balancers do not support, annotations of another cloud, and annotations that contradict each other or have no effect. Annotation defaults come from the settings of lint, so run it with the manager's variables or --config file. No request is sent.",
      "--output=github prints annotations, which GitHub Actions shows at the lines of a pull request.",
    ],
    takesFiles: true,
    flags: ["output", "cloud-config", "load-balancer-class", "load-balancer-class-only"],
    exitCodes: {
      "0": "no problems, or only hints",
      "1": "a file cannot be read",
      "3": "errors or warnings; --output=json has the severity of each",
    },
    examples: [
      { text: "All manifests of a folder", words: "lint deploy/*.yaml" },
      { text: "Before they are applied", words: "lint - < service.yaml" },
      { text: "The cloud configuration file", words: "lint --cloud-config=cloud.conf" },
      { text: "In GitHub Actions", words: "lint --output=github deploy/*.yaml" },
    ],
  },
  requires: "nothing",
  async run(invocation, words) {
    // Loaded here because only this command parses YAML.
    const { Linter } = await import("../../inspect/lint/lint-files.ts");
    const { configuration, platform, provider, console } = invocation;
    const { flagProblems } = configuration;
    if (invocation.refuse(flagProblems)) {
      if (flagProblems.some(({ key = "" }) => /^--?f(ile(name)?)?$/.test(key)))
        invocation.writeError("lint takes files without a flag: lint deploy/*.yaml");
      return;
    }
    const cloudFile = configuration.settings.flags["cloud-config"];
    if (words.length === 0 && cloudFile === undefined) {
      invocation.refuseText("lint requires at least one file; - reads from stdin");
      return;
    }
    const linter = new Linter({
      provider,
      environment: platform.environment,
      services: {
        classes: classesOf(configuration.settings.flags),
        table: annotationsWithDefaults(provider, () => ({
          environment: platform.environment,
          ...configuration.settings.cloud,
        })),
        facts: provider.facts ?? {},
        balancers: balancersOf(invocation),
      },
    });
    const refused = configuration.problems.find(({ key }) => key === "--cloud-config");
    if (refused !== undefined) invocation.writeError(messageIn(refused));
    else if (cloudFile !== undefined) linter.addCloudFile(cloudFile, configuration.problems);
    let unreadable = refused === undefined ? 0 : 1;
    for (const path of words) {
      try {
        const text = path === "-" ? await console.stdin?.() : await platform.files.read(path);
        linter.lint(path === "-" ? "stdin" : path, text ?? "");
      } catch (error) {
        unreadable += 1;
        invocation.writeError(
          `cannot read ${path}: ${whyUnreadable[runtimeCodeOf(error)] ?? messageOf(error)}`,
        );
      }
    }
    const { result } = linter;
    const { output } = configuration.settings.flags;
    await invocation.print(result, (output === "github" ? lintAnnotations : lintText)(result, unreadable));
    invocation.exitCode =
      unreadable > 0 ? 1 : result.problems.some(({ severity }) => severity !== "hint") ? 3 : 0;
  },
};
