// Connects a provider to its cloud, with the governed transport. Sends no requests.

import { type AccountContext, type GovernedAccount, openAccount } from "../cloud/account.ts";
import { boundCopy } from "../cloud/bound-copy.ts";
import { credentialHint } from "../cloud/credential-hint.ts";
import type { Problem } from "../core/problem.ts";
import { secretsIn } from "../core/redaction.ts";
import type { AnyCloud, AnyProvider, Context } from "../provider/provider.ts";
import { tableNameProblems } from "../provider/route-tables.ts";
import {
  type CloudSettings,
  configProblems,
  inUsersWords,
  readConfig,
  sourcesOf,
} from "./configuration/cloud-settings.ts";

export interface ConnectedCloud {
  readonly cloud: AnyCloud;
  /** The origins of URLs in the settings, without paths and credentials. */
  readonly origins: readonly string[];
  readonly accounts: readonly GovernedAccount<unknown>[];
}

export interface ConnectContext extends AccountContext {
  /** If unset, the command needs no credentials. */
  readonly readSecret?: Context["readSecret"] | undefined;
}

export function connectCloud(
  provider: AnyProvider,
  settings: CloudSettings,
  accountContext: ConnectContext,
): { readonly connected?: ConnectedCloud; readonly problems: readonly Problem[] } {
  const read = readConfig(provider, settings);
  const problems = configProblems(provider, settings);
  if (problems.some(({ severity }) => severity === "error")) return { problems };
  const accounts: GovernedAccount<unknown>[] = [];
  const context: Context = {
    account: (account) => {
      const sources = (name: string) => sourcesOf(provider, name, settings);
      const hint = credentialHint(provider.config, sources, account.credentialPlace);
      const opened = openAccount(account, { ...accountContext, credentialHint: hint });
      accounts.push(opened);
      return opened;
    },
    announce: accountContext.announce ?? (() => undefined),
    inputs: { file: (path) => settings.inputFiles?.get(path) },
    readSecret: async (secret, call) => {
      // The manager's role already grants the declared permissions.
      const isDeclared = (provider.inputs?.(read.values) ?? []).some(
        (input) =>
          input.kind === "Secret" && input.namespace === secret.namespace && input.name === secret.name,
      );
      return isDeclared ? accountContext.readSecret?.(secret, call) : undefined;
    },
    mark: {
      cluster: settings.cluster,
      owner: "fairlead",
      get clusterUID() {
        return settings.clusterUID?.();
      },
    },
  };
  // Defaults are public.
  for (const [name, value] of Object.entries(read.values)) {
    if (Object.hasOwn(read.raw, name))
      for (const text of secretsIn(value)) accountContext.redaction?.add(text);
  }
  const connected = provider.connect(read.values, context);
  const cloud: AnyCloud = {
    ...boundCopy(connected),
    checkSettings: async (call) =>
      ((await connected.checkSettings?.(call)) ?? []).map((found) => inUsersWords(provider, found, settings)),
  };
  const shapes = tableNameProblems(cloud.routes);
  if (shapes.length > 0) return { problems: [...problems, ...shapes] };
  return { connected: { cloud, accounts, origins: originsIn(read.values) }, problems };
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function originsIn(values: Readonly<Record<string, unknown>>): readonly string[] {
  return [
    ...new Set(
      textsIn(values).flatMap((value) =>
        /^https?:/i.test(value) && URL.canParse(value) ? new URL(value).origin : [],
      ),
    ),
  ];
}

/** The endpoints and accounts of a cloud, for the log. */
export function shownCloud({
  origins,
  accounts,
}: Pick<ConnectedCloud, "origins" | "accounts">): Readonly<Record<string, string>> {
  const names = accounts.map(({ name }) => name).join(", ");
  return origins.length === 0 ? { accounts: names } : { cloud: origins.join(", "), accounts: names };
}
