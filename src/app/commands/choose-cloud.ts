// Chooses the provider of kubectl-fairlead, which contains all providers: from --cloud-provider, or from the Nodes' provider ids.

import { minutes } from "../../core/brand.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import { textOf } from "../../core/error-message.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { nodes } from "../../kube/resources.ts";
import { type AnyProvider, contractVersion } from "../../provider/provider.ts";
import { withDeadline } from "../../runtime/deadline.ts";
import { version } from "../build-info.ts";
import { askedByShell } from "../completion/shells.ts";
import type { ExitCode } from "../console.ts";
import { readFlags } from "../flags/read-flags.ts";
import { withUserKubeconfig } from "../kube-client.ts";
import { readingApi } from "../operator.ts";
import { isPluginCompletion } from "../plugin-name.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { commandNames } from "./command-line.ts";

/** The functions that load the providers, by provider name. */
export type LoadProviders = Readonly<Record<string, () => Promise<AnyProvider>>>;

export type ChosenCloud =
  | { readonly provider: AnyProvider }
  | { readonly refused: string; readonly exitCode: ExitCode };

export interface CloudQuestion {
  readonly args: readonly string[];
  readonly invokedAs: string;
  readonly platform: ManagerPlatform;
  readonly signal: AbortSignal;
}

/** Used for help, and for errors that occur before a cloud is selected. */
const withoutCloud: AnyProvider = {
  contract: contractVersion,
  name: "fairlead",
  schemes: ["fairlead://"],
  config: {},
  connect: () => ({}),
};
const needsNoCloud = ["help", "version", "completion", askedByShell];
/** Commands that an installation runs, and that are not available through kubectl. */
const ofMachines = ["run", "csi-controller", "node-volumes"];

/** One page of Nodes is enough to recognize the cloud. */
const nodesRead = 100;

export async function chooseCloud(
  load: LoadProviders,
  { args, invokedAs, platform, signal }: CloudQuestion,
): Promise<ChosenCloud> {
  const read = readFlags(args);
  const { flags, positional } = read;
  const names = Object.keys(load);
  const wanted = flags["cloud-provider"];
  const how = `set --cloud-provider to one of ${names.join(", ")}`;
  const named = wanted === undefined || !Object.hasOwn(load, wanted) ? undefined : load[wanted];
  const [command = "help"] = positional;
  if (ofMachines.includes(command) && !flags.help) {
    const refused = `${command} is for the executable of a cloud, such as hetzner-cloud-controller-manager; run that`;
    return { refused, exitCode: 2 };
  }
  if (named !== undefined) return { provider: await named() };
  if (
    isPluginCompletion(invokedAs) ||
    flags.help ||
    flags.notices ||
    flags.version !== "false" ||
    needsNoCloud.includes(command) ||
    !commandNames.includes(command)
  )
    return { provider: withoutCloud };

  const providers = await Promise.all(Object.values(load).map((one) => one()));
  if (wanted !== undefined && wanted !== "external") {
    // The Go managers of some clouds use a different provider name.
    const provider = providers.find(({ name }) => name === wanted);
    if (provider !== undefined) return { provider };
    const meant = didYouMean(wanted, names);
    const hint = meant === undefined ? how : `did you mean ${meant}?`;
    return {
      refused: `--cloud-provider is ${JSON.stringify(wanted)}, which is not a known cloud; ${hint}`,
      exitCode: 2,
    };
  }
  try {
    const settings = { ...read, flags: await withUserKubeconfig(flags, platform) };
    const api = await readingApi({ settings, platform, signal, userAgent: `kubectl-fairlead/${version}` });
    const { items } = await withDeadline(
      platform.clock,
      flags.timeout ?? minutes(1),
      "The API server",
      signal,
      (stop) => api.listPage(nodes, { limit: nodesRead }, stop),
    );
    const ids = items.flatMap(({ spec }) => spec.providerID ?? []);
    const found = providers.filter(({ schemes }) =>
      schemes.some((scheme) => ids.some((id) => id.startsWith(scheme))),
    );
    const [provider] = found;
    if (provider !== undefined && found.length === 1) return { provider };
    const seen = found.map(({ name }) => name).join(" and ");
    const why =
      seen === "" ? "no Node has a provider id of a known cloud" : `the Nodes have provider ids of ${seen}`;
    return { refused: `${why}; ${how}`, exitCode: 2 };
  } catch (error) {
    signal.throwIfAborted();
    const exitCode = isKubeError(error) && !error.fatal ? 1 : 2;
    return {
      refused: `the Nodes, which show the cloud, cannot be read: ${textOf(error).replace(/\.$/, "")}. Or ${how}.`,
      exitCode,
    };
  }
}
