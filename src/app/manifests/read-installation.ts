// Parses the command line of `manifests` into an installation, and reports all invalid and missing values. Pure.

import { messageIn, type Problem } from "../../core/problem.ts";
import type { Field } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import { programOf } from "../../provider/program.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { secretInputs } from "../configuration/cloud-files.ts";
import { configProblems } from "../configuration/cloud-settings.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import { type FlagName, flagFields } from "../flags/flag-table.ts";
import type { ManifestKind } from "../flags/groups/commands.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { accessNeeds, leaseOf } from "../permissions.ts";
import { cloudInputs } from "./cloud-inputs.ts";
import { fileNameOf, type Installation, missingFileText } from "./kubernetes-manifests.ts";
import { readSet } from "./read-set.ts";
import { hostFolder } from "./workloads.ts";

/** Flags of this command, and flags that the manifest expresses differently. */
const notPassedOn: readonly FlagName[] = ["as", "set", "config-set", "help", "notices", "version"];

/** A systemd instance is named after the cluster, and the volume agent needs no cloud settings. */
const notPassedOnIn: Readonly<Partial<Record<ManifestKind, FlagName>>> = {
  systemd: "cluster-name",
  "node-volumes": "cloud-config",
};

const isWorkload = (kind: ManifestKind): boolean => kind === "daemonset" || kind === "deployment";

/** The command-line flags for the manager. A pod reads the cloud's file from its Secret. */
function argsOf(
  flags: Readonly<Record<string, string>>,
  kind: ManifestKind,
  cloudConfig: string | undefined,
): readonly string[] {
  const dropped: readonly (string | undefined)[] = [...notPassedOn, notPassedOnIn[kind]];
  const isMounted = isWorkload(kind) && cloudConfig !== undefined;
  const given = isMounted ? { ...flags, "cloud-config": `${hostFolder}/${fileNameOf(cloudConfig)}` } : flags;
  return Object.entries(given).flatMap(([name, value]) => {
    if (dropped.includes(name)) return [];
    const field: Field<unknown> | undefined = Object.hasOwn(flagFields, name)
      ? flagFields[name as FlagName]
      : undefined;
    const values = field?.kind === "repeated" ? value.split("\n") : [value];
    return values.map((each) => `--${name}=${each}`);
  });
}

function flagConflicts(given: Readonly<Record<string, string>>, kind: ManifestKind): readonly Problem[] {
  const { "cloud-config": path } = given;
  if (kind === "static-pod" && path?.startsWith(`${hostFolder}/`) === false) {
    const wrong = `must be in ${hostFolder}, which is all that a static pod sees of the machine, got ${JSON.stringify(path)}. Write the file there`;
    return [invalidFlag("cloud-config", wrong)];
  }
  if (!isWorkload(kind) && kind !== "node-volumes") return [];
  return Object.keys(given).flatMap((name) => {
    if (name === "kubeconfig") {
      return [invalidFlag(name, `cannot be used with --as ${kind}: the pods use a service account. Omit it`)];
    }
    if (name !== "config") return [];
    const instead = "Pass its flags, and its settings with --set, or use the Helm chart";
    return [invalidFlag(name, `cannot be used with --as ${kind}: the pods have no such file. ${instead}`)];
  });
}

/** The cluster name becomes the name of the instance and of a folder, and FAIRLEAD_FLAGS supports no quoting. */
function systemdProblems(kind: ManifestKind, cluster: string, args: readonly string[]): readonly Problem[] {
  if (kind !== "systemd") return [];
  const wrong = args.filter((arg) => /\s/.test(arg));
  const ofCluster = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(cluster)
    ? []
    : [
        invalidFlag(
          "cluster-name",
          `must have only letters, digits, "_", "." and "-" with --as systemd, because it names the instance, got ${JSON.stringify(cluster)}`,
        ),
      ];
  const ofArgs = wrong.map((arg) =>
    invalidFlag(
      "as",
      `systemd cannot pass ${JSON.stringify(arg)}, which contains a space; write it in a --config file`,
    ),
  );
  return [...ofCluster, ...ofArgs];
}

function secretKeyProblems({ credentials, values: { secret, "secret-keys": keys } }: Installation) {
  const variables = credentials.map(({ variable }) => variable);
  const unknown = [...keys.keys()].filter((name) => !variables.includes(name));
  const texts = unknown.map(
    (name) => `${name} is not a variable of a credential; they are ${variables.join(", ")}`,
  );
  if (keys.size > 0 && secret === undefined)
    texts.push("it has no effect without secret, the name of the Secret");
  return texts.map((text) => invalidFlag("set", `secret-keys: ${text}`));
}

function secretProblems(kind: ManifestKind, installation: Installation): readonly Problem[] {
  if (kind !== "static-pod") return secretKeyProblems(installation);
  return installation.credentials.flatMap(({ setting, variable, value }) =>
    value === undefined
      ? []
      : [
          invalidFlag(
            "set",
            `${setting}: a static pod cannot use a Secret, and its manifest is readable in the API server; write the value to /etc/fairlead/${variable} on the machine`,
          ),
        ],
  );
}

function volumeProblems(kind: ManifestKind, { program, driver }: Installation): readonly Problem[] {
  if (kind !== "node-volumes" || driver !== undefined) return [];
  return [
    invalidFlag(
      "as",
      `${program} has no volumes, so node-volumes has nothing to do. Use the CSI driver of the cloud`,
    ),
  ];
}

export interface InstallationOptions {
  readonly provider: AnyProvider;
  readonly kind: ManifestKind;
  readonly read: ReadFlags;
  readonly environment: Environment;
}

export interface ReadInstallation {
  readonly installation: Installation;
  /** Errors. If there are any, no manifest is printed. */
  readonly problems: readonly Problem[];
  /** Messages about missing values that the manager needs to start. */
  readonly missing: readonly string[];
}

/** Where to put credentials that are not part of the manifest. */
function placeOfCredentials(kind: ManifestKind, { values }: Installation): string | undefined {
  if (kind === "static-pod") return "a file in /etc/fairlead on the machine";
  if (values.secret === undefined) return undefined;
  const keys = [...values["secret-keys"]].map(([variable, key]) => `${variable} under ${key}`);
  return `the Secret ${values.secret}${keys.length === 0 ? "" : ` (${keys.join(", ")})`}`;
}

/** Credentials outside the manifest cannot be checked here. Only problems that no credential would fix are certain. */
function missingOf(
  { provider, kind, read }: InstallationOptions,
  installation: Installation,
  settings: ReadonlyMap<string, string>,
): readonly string[] {
  const errorsWith = (environment: Environment): readonly string[] =>
    configProblems(provider, {
      ...read.cloud,
      given: new Map([...read.cloud.given, ...settings]),
      environment,
    })
      .filter(({ severity }) => severity === "error")
      .map(messageIn);
  const place = placeOfCredentials(kind, installation);
  const elsewhere = installation.credentials.filter(
    ({ value }) => place !== undefined && value === undefined,
  );
  const certain = errorsWith(Object.fromEntries(elsewhere.map(({ variable }) => [variable, "x".repeat(64)])));
  // The environment is excluded, because it is not part of the manifest.
  return errorsWith({}).map((text) =>
    place === undefined || certain.includes(text)
      ? `The manager will exit with code 2 until this is corrected: ${text}`
      : `The manager exits with code 2 unless ${place} has it: ${text}`,
  );
}

export function readInstallation(options: InstallationOptions): ReadInstallation {
  const { provider, kind, read, environment } = options;
  const { config } = provider;
  const { flags, given } = read;
  const set = readSet({
    kind,
    entries: flags.set ?? [],
    config,
    environment,
    flagNames: Object.keys(flagFields),
  });
  const settings = new Map([...(flags["config-set"] ?? []), ...set.settings]);
  const inputs = cloudInputs(config, settings);
  // Providers of other clouds do not read such a file.
  const cloudConfig = provider.readConfigFile && flags["cloud-config"];
  const args = [...argsOf(given, kind, cloudConfig), ...inputs.args];
  const program = programOf(provider);
  const { name } = set.values;
  const installation: Installation = {
    program,
    names: { access: name ?? "fairlead", workload: name ?? program },
    args,
    bindAddress: flags["bind-address"],
    securePort: flags["secure-port"],
    values: set.values,
    credentials: inputs.credentials,
    variables: inputs.variables,
    lease: leaseOf(flags),
    needs: accessNeeds(read, secretInputs(provider, { ...read.cloud, given: settings, environment: {} })),
    driver: provider.volumeDriver,
    cloudConfig,
  };
  const problems = [
    ...flagConflicts(given, kind),
    ...set.problems,
    ...inputs.problems,
    ...systemdProblems(kind, flags["cluster-name"], args),
    ...secretProblems(kind, installation),
    ...volumeProblems(kind, installation),
  ];
  const isPrinted = kind !== "rbac" && kind !== "node-volumes" && flags.config === undefined;
  const missing = isPrinted ? missingOf(options, installation, settings) : [];
  const file = isWorkload(kind) ? missingFileText(installation) : undefined;
  return { installation, problems, missing: [...missing, ...(file === undefined ? [] : [file])] };
}
