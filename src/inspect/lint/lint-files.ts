// Checks whole files: each object that Fairlead reads, and Services of the same name.

import { problemsIn } from "../../app/configuration/cloud-files.ts";
import { configProblems } from "../../app/configuration/cloud-settings.ts";
import { cloudNameProblems } from "../../app/flags/flag-problems.ts";
import { flagFields, flagsNotInFile } from "../../app/flags/flag-table.ts";
import { readFlags } from "../../app/flags/read-flags.ts";
import { webhookProblems } from "../../app/flags/webhook-names.ts";
import { inFile } from "../../config-file/located.ts";
import { configurationKind, parseConfiguration } from "../../config-file/parse-configuration.ts";
import { type ManifestObject, parseManifests } from "../../config-file/parse-manifests.ts";
import { parseYaml } from "../../config-file/parse-yaml.ts";
import { nodeAnnotationProblems } from "../../controllers/node/node-notices.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import { topLevelName } from "../../core/settings.ts";
import type { Node } from "../../kube/objects.ts";
import type { Environment } from "../../platform/environment.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { atPlaceIn, type LintProblem, type LintResult } from "./lint-result.ts";
import { type FoundProblem, lintService, type ServiceRules } from "./lint-service.ts";

export interface LintRules {
  readonly provider: AnyProvider;
  readonly environment: Environment;
  readonly services: ServiceRules;
}

type Raw = Readonly<Record<string, unknown>>;

function nameOf({ metadata }: Raw): string {
  const { name, generateName, namespace = "default" } = (metadata ?? {}) as Raw;
  return `${String(namespace)}/${String(name ?? generateName ?? "?")}`;
}

export class Linter {
  readonly #rules: LintRules;
  readonly #problems: LintProblem[] = [];
  /** Where each Service of the file was seen first. */
  readonly #services = new Map<string, number>();
  /** The Services that request to adopt each load balancer. */
  readonly #adopted = new Map<string, string>();
  readonly #checked = { files: 0, services: 0, nodes: 0, configurations: 0 };

  constructor(rules: LintRules) {
    this.#rules = rules;
  }

  get result(): LintResult {
    // Findings keep the order of the files.
    const problems = this.#problems.toSorted((a, b) =>
      a.file === b.file ? a.line - b.line || a.column - b.column : 0,
    );
    return { problems, checked: { ...this.#checked } };
  }

  lint(path: string, text: string): void {
    this.#checked.files += 1;
    this.#services.clear();
    const { objects, problems } = parseManifests(text);
    for (const { place, severity, reason, text: message } of problems)
      this.#problems.push({
        file: path,
        line: place.line,
        column: place.column,
        severity,
        reason,
        text: message,
      });
    for (const object of objects) this.#lintObject(path, object);
  }

  /** Adds problems of the --cloud-config file, which was read with all other settings. */
  addCloudFile(file: string, problems: readonly Problem[]): void {
    this.#checked.files += 1;
    this.#checked.configurations += 1;
    this.#problems.push(...problemsIn(file, problems).map((problem) => atPlaceIn(file, problem)));
  }

  #lintObject(path: string, object: ManifestObject): void {
    const { provider, environment } = this.#rules;
    const { kind, apiVersion } = object.value;
    if (kind === configurationKind) {
      this.#checked.configurations += 1;
      this.#problems.push(...lintConfiguration(path, object.text, provider, environment));
    } else if (kind === "Service" && apiVersion === "v1") this.#lintService(path, object);
    else if (kind === "Node" && apiVersion === "v1") {
      this.#checked.nodes += 1;
      const found = nodeAnnotationProblems(object.value as unknown as Node).map(
        (problem): FoundProblem => ({ ...problem, path: ["metadata", "annotations", problem.key ?? ""] }),
      );
      this.#add(path, object, `Node ${nameOf(object.value).replace(/^.*\//, "")}`, found);
    }
  }

  #lintService(path: string, object: ManifestObject): void {
    const found = lintService(object.value, this.#rules.services);
    const name = nameOf(object.value);
    if (found === undefined) return;
    this.#checked.services += 1;
    this.#add(path, object, `Service ${name}`, [
      ...found.problems,
      ...this.#duplicate(object, name),
      ...this.#adoption(found.adopts, name),
    ]);
  }

  /** Two Services cannot have the same load balancer, in whatever cluster. */
  #adoption(balancer: string | undefined, name: string): readonly FoundProblem[] {
    if (balancer === undefined) return [];
    const first = this.#adopted.get(balancer);
    if (first === undefined) this.#adopted.set(balancer, name);
    if (first === undefined || first === name) return [];
    const text = `it asks to adopt the load balancer ${balancer}, and so does ${first}. Only one of them gets it; correct one of the annotations`;
    return [{ severity: "error", reason: "AmbiguousAdoption", text, path: ["metadata", "annotations"] }];
  }

  /** Compared within one file, because other files may belong to another cluster. */
  #duplicate(object: ManifestObject, name: string): readonly FoundProblem[] {
    const first = this.#services.get(name);
    if (first === undefined) this.#services.set(name, object.placeOf(["metadata", "name"]).line);
    if (first === undefined || name.endsWith("/?")) return [];
    const text = `the Service ${name} is also in line ${first}, and the one that is applied last overwrites the other; keep one of them`;
    return [{ severity: "error", reason: "DuplicateService", text, path: ["metadata", "name"] }];
  }

  #add(file: string, object: ManifestObject, name: string, found: readonly FoundProblem[]): void {
    for (const { path, severity, reason, ...problem } of found) {
      const text = messageIn(problem);
      this.#problems.push({ file, ...object.placeOf(path), severity, reason, text, object: name });
    }
  }
}

/**
 * Checks a --config file: flags and cloud settings with their positions, against the manager's tables and the provider's own
 * checks. Required settings may come from variables, so none counts as missing.
 */
function lintConfiguration(
  file: string,
  text: string,
  provider: AnyProvider,
  environment: Environment,
): readonly LintProblem[] {
  const tables = { flags: flagFields, cloud: provider.config, notInFile: flagsNotInFile };
  const own = parseConfiguration(parseYaml(text), tables);
  const settings = readFlags([], { provider, file: { path: file, flags: own.flags } });
  const places = new Map([...own.cloud.places].map(([name, place]) => [name, { file, ...place }] as const));
  const ofCloud = configProblems(provider, { environment, given: new Map(), file: own.cloud.raw, places });
  /** Settings that are missing in the file may come from a variable, which is unknown here. */
  const isInFile = (key: string | undefined): boolean =>
    key === undefined || Object.hasOwn(own.cloud.raw, topLevelName(key));
  const all: readonly Problem[] = [
    ...own.problems.map((problem) => inFile(file, problem)),
    ...settings.problems,
    ...webhookProblems(settings.flags),
    ...cloudNameProblems(settings.flags, provider),
    ...ofCloud.filter(({ reason, key }) => reason !== "MissingSetting" && isInFile(key)),
  ];
  return all.map((problem) => atPlaceIn(file, problem));
}
