// From a provider's definition and what the operator wrote to a connected cloud: settings read strictly, and a context
// whose accounts are governed. It asks the cloud nothing.

import { type AccountSurroundings, type GovernedAccount, openAccount } from "../cloud/account.ts";
import type { Problem } from "../core/problem.ts";
import { readSettings } from "../core/read-settings.ts";
import type { Fields } from "../core/settings.ts";
import type { ObservedLoadBalancer } from "../provider/load-balancers.ts";
import type { Step } from "../provider/plan.ts";
import type { Cloud, Context, ProviderDefinition } from "../provider/provider.ts";
import type { Environment } from "../seams/environment.ts";

export type AnyProvider = ProviderDefinition<Fields, Fields, ObservedLoadBalancer, Step, unknown>;
export type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;

export interface ConnectedCloud {
  readonly cloud: AnyCloud;
  readonly accounts: readonly GovernedAccount<unknown>[];
}

export interface CloudSettings {
  readonly environment: Environment;
  /** Of `--config-set`: wins over the environment. */
  readonly given: ReadonlyMap<string, string>;
  readonly cluster: string;
}

/** What the operator set, by setting name: variables first, what was given by flag over them. */
export const rawConfig = (
  { config }: AnyProvider,
  { environment, given }: Pick<CloudSettings, "environment" | "given">,
): Readonly<Record<string, string>> => {
  const raw: Record<string, string> = {};
  for (const [name, field] of Object.entries(config)) {
    const value = field.env === undefined ? undefined : environment[field.env];
    if (value !== undefined && value !== "") raw[name] = value;
  }
  return { ...raw, ...Object.fromEntries(given) };
};

const readConfig = (provider: AnyProvider, settings: Pick<CloudSettings, "environment" | "given">) => {
  const read = readSettings(provider.config, rawConfig(provider, settings), { what: "setting" });
  // An unknown setting is wrong here: nobody else reads these.
  const problems = read.problems.map((problem) => ({ ...problem, severity: "error" as const }));
  return { values: read.values, problems };
};

export const configProblems = (
  provider: AnyProvider,
  settings: Pick<CloudSettings, "environment" | "given">,
): readonly Problem[] => readConfig(provider, settings).problems;

export const connectCloud = (
  provider: AnyProvider,
  settings: CloudSettings,
  around: AccountSurroundings,
): { readonly connected?: ConnectedCloud; readonly problems: readonly Problem[] } => {
  const read = readConfig(provider, settings);
  const further = read.problems.length === 0 ? (provider.checkConfig?.(read.values) ?? []) : [];
  const problems = [...read.problems, ...further];
  if (problems.some(({ severity }) => severity === "error")) return { problems };
  const accounts: GovernedAccount<unknown>[] = [];
  const context: Context = {
    account: (account) => {
      const opened = openAccount(account, around);
      accounts.push(opened);
      return opened;
    },
    inputs: { secret: () => undefined, configMap: () => undefined, file: () => undefined },
    mark: { cluster: settings.cluster, owner: "fairlead" },
  };
  return { connected: { cloud: provider.connect(read.values, context), accounts }, problems };
};
