// From a provider's definition and what the operator wrote to a connected cloud: settings read strictly, and a context
// whose accounts are governed. It asks the cloud nothing.

import { type AccountContext, type GovernedAccount, openAccount } from "../cloud/account.ts";
import { credentialHint } from "../cloud/credential-hint.ts";
import type { Problem } from "../core/problem.ts";
import { readSettings } from "../core/read-settings.ts";
import type { Secret } from "../core/secret.ts";
import type { Fields } from "../core/settings.ts";
import type { Environment } from "../platform/environment.ts";
import type { ObservedLoadBalancer } from "../provider/load-balancers.ts";
import type { Step } from "../provider/plan.ts";
import type { Cloud, Context, ProviderDefinition } from "../provider/provider.ts";

export type AnyProvider = ProviderDefinition<Fields, Fields, ObservedLoadBalancer, Step, unknown>;
export type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;

export interface ConnectedCloud {
  readonly cloud: AnyCloud;
  /** Where its settings lead, without paths and whatever else may stand in an address. */
  readonly origins: readonly string[];
  readonly accounts: readonly GovernedAccount<unknown>[];
}

/** What was set for the cloud apart from the environment. */
export interface CloudSources {
  /** By flag: counts most. */
  readonly given: ReadonlyMap<string, string>;
  /** From files: the environment counts more. */
  readonly file?: Readonly<Record<string, string>>;
  /** Where in a file each of those stands, as `path:line:column`. */
  readonly places?: ReadonlyMap<string, string>;
  /** Files that the provider asked for, by path. */
  readonly inputFiles?: ReadonlyMap<string, Secret>;
}

export interface CloudSettings extends CloudSources {
  readonly environment: Environment;
  readonly cluster: string;
}

type SettingSources = Omit<CloudSettings, "cluster">;

/** The annotations of Services that this cloud understands; one that understands none has still a place for them. */
export function annotationsOf({ annotations }: AnyProvider): NonNullable<AnyProvider["annotations"]> {
  return annotations ?? { prefix: "fairlead.dev/balancer-", fields: {} };
}

/** What the operator set, by setting name: files first, variables over them, what was given by flag over both. */
function rawConfig(
  { config }: AnyProvider,
  { environment, given, file }: SettingSources,
): Readonly<Record<string, string>> {
  const raw: Record<string, string> = { ...file };
  for (const [name, field] of Object.entries(config)) {
    const value = field.env === undefined ? undefined : environment[field.env];
    if (value !== undefined && value !== "") raw[name] = value;
  }
  return { ...raw, ...Object.fromEntries(given) };
}

/** `path:line:column: ` of a setting whose value is that of a file; nothing where it is not. */
function placeOf(
  key: string | undefined,
  raw: Readonly<Record<string, string>>,
  { places, file }: SettingSources,
): string {
  const place = key === undefined ? undefined : places?.get(key);
  return place === undefined || file?.[key ?? ""] !== raw[key ?? ""] ? "" : `${place}: `;
}

/** The values of the table, and everything that is wrong with them, what is in a file with its place. */
export function readConfig(provider: AnyProvider, settings: SettingSources) {
  const raw = rawConfig(provider, settings);
  const read = readSettings(provider.config, raw, { what: "setting" });
  /** Only `--config-set` takes names that nobody has looked at. */
  const whoSays = ({ reason, key }: Problem): readonly [string, string] =>
    reason === "UnknownSetting" && key !== undefined && settings.given.has(key)
      ? ["--config-set: ", ` (there are ${Object.keys(provider.config).join(", ")})`]
      : [placeOf(key, raw, settings), ""];
  const problems = read.problems.map((problem) => {
    const [before, behind] = whoSays(problem);
    return {
      ...problem,
      text: `${before}${problem.text}${behind}`,
      // An unknown setting is wrong here: nobody else reads these.
      severity: problem.reason === "RenamedSetting" ? problem.severity : ("error" as const),
    };
  });
  return { values: read.values, raw, problems };
}

export function configProblems(provider: AnyProvider, settings: SettingSources): readonly Problem[] {
  const { values, raw, problems } = readConfig(provider, settings);
  if (problems.some(({ severity }) => severity === "error")) return problems;
  const found = (provider.checkConfig?.(values) ?? []).map((problem) => ({
    ...problem,
    text: `${placeOf(problem.key, raw, settings)}${problem.text}`,
  }));
  return [...problems, ...found];
}

export function connectCloud(
  provider: AnyProvider,
  settings: CloudSettings,
  accountContext: AccountContext,
): { readonly connected?: ConnectedCloud; readonly problems: readonly Problem[] } {
  const read = readConfig(provider, settings);
  const problems = configProblems(provider, settings);
  if (problems.some(({ severity }) => severity === "error")) return { problems };
  const accounts: GovernedAccount<unknown>[] = [];
  const context: Context = {
    account: (account) => {
      const hint = credentialHint(provider.config, read.raw);
      const opened = openAccount(account, { ...accountContext, credentialHint: hint });
      accounts.push(opened);
      return opened;
    },
    inputs: {
      secret: () => undefined,
      configMap: () => undefined,
      file: (path) => settings.inputFiles?.get(path),
    },
    mark: { cluster: settings.cluster, owner: "fairlead" },
  };
  const cloud = provider.connect(read.values, context);
  return { connected: { cloud, accounts, origins: originsIn(read.values) }, problems };
}

function originsIn(values: Readonly<Record<string, unknown>>): readonly string[] {
  return [
    ...new Set(
      Object.values(values).flatMap((value) =>
        typeof value === "string" && /^https?:/i.test(value) && URL.canParse(value)
          ? new URL(value).origin
          : [],
      ),
    ),
  ];
}

/** For the log: where the cloud is, and as whom we are there. */
export function shownCloud({ origins, accounts }: Pick<ConnectedCloud, "origins" | "accounts">) {
  return {
    ...(origins.length > 0 && { cloud: origins.join(", ") }),
    accounts: accounts.map(({ name }) => name).join(", "),
  };
}
