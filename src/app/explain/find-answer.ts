// An explanation: asks a running manager if one is named. Otherwise a manager that changes nothing evaluates everything once, with the
// same functions, if the cloud is configured here.

import { minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { openConnection } from "../../kube/connection/connection.ts";
import { version } from "../build-info.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import type { Flags } from "../flags/flag-table.ts";
import { connectionSource, connectKube } from "../kube-client.ts";
import { type Evaluated, observeOnce, ReadOnlyTransports } from "../observe-once.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { askManager } from "./ask-manager.ts";
import { describeEverything, describeObject, isNotFound } from "./describe-object.ts";
import { withoutLeader } from "./description.ts";
import type { ExplainAnswer } from "./explain-text.ts";
import { findManager, inPod, leadershipText } from "./find-manager.ts";
import {
  type AskedObject,
  explainObjects,
  type Found,
  listingRefusal,
  type ReadEvents,
  readEvents,
} from "./from-api-server.ts";

/** A client that cannot write. */
export function readingClient(
  flags: Flags,
  platform: ManagerPlatform,
  userAgent: string,
  signal: AbortSignal,
) {
  const transport = new ReadOnlyTransports().kube(platform.transport);
  const hooks = {
    userAgent,
    mayWrite: () => ({ reason: "this command changes nothing." }),
    onRequest: () => undefined,
  };
  return connectKube(flags, { ...platform, transport }, hooks, signal);
}

const isOnlyAbsent = ({ reason }: Problem): boolean =>
  reason === "MissingSetting" || reason === "UnreadableFile";

/**
 * The certificate of a manager is usually its own, and no kubeconfig names its authority. So the leader is not asked before a user names
 * the one to trust.
 */
const howToAsk =
  "For its reasons, set --server-ca-file: it gets your credentials, so its certificate must be one that you trust.";

/** A wrong name makes every load balancer look like that of another cluster. */
function assumedCluster({ "cluster-name": name }: Flags, use: string): string {
  return `The cluster name ${name} (--cluster-name) ${use}; the manager may have another one.`;
}

const noLeaderOf = (leader: { readonly isHeld: boolean; readonly text: string } | undefined) =>
  leader?.isHeld === false ? { noLeader: leader.text } : {};

function describe(
  { manager, unfinished, refused }: Evaluated,
  asked: AskedObject,
  reported: ReadEvents,
): Found {
  const warnings = [
    ...reported.warnings,
    ...(unfinished === undefined ? [] : [unfinished]),
    ...refused.map((request) => `the provider sent ${request}, which was refused; please file a bug`),
  ];
  if (asked === undefined) return { objects: describeEverything(manager), warnings };
  const answer = describeObject(manager, asked.kind, asked.name, reported.events ?? []);
  return isNotFound(answer) ? { objects: [], notFound: answer, warnings } : { objects: [answer], warnings };
}

export interface ExplainSources {
  readonly provider: AnyProvider;
  readonly program: string;
  readonly platform: ManagerPlatform;
  readonly configuration: Configuration;
  /** With the kubeconfig of the user. */
  readonly flags: Flags;
  readonly signal: AbortSignal;
}

const connect = ({ flags, platform, signal }: ExplainSources) =>
  openConnection(connectionSource(flags, platform.environment), platform, signal);

const read = ({ flags, platform, program, signal }: ExplainSources) =>
  readingClient(flags, platform, `${program}/${version} explain`, signal);

const timeoutOf = ({ timeout }: Flags) => timeout ?? minutes(1);

export async function namespaceOf(sources: ExplainSources): Promise<string> {
  return sources.flags.namespace ?? (await connect(sources)).namespace ?? "default";
}

export async function findAnswer(sources: ExplainSources, asked: AskedObject): Promise<ExplainAnswer> {
  const { server, offline, "server-ca-file": caFile } = sources.flags;
  const isManagerNamed = server !== undefined || caFile !== undefined;
  const answer = await (isManagerNamed && !offline
    ? fromManager(sources, asked)
    : fromEvaluation(sources, asked));
  const { noLeader, objects } = answer;
  return asked === undefined
    ? answer
    : { ...answer, objects: objects.map((object) => withoutLeader(object, noLeader)) };
}

async function fromManager(sources: ExplainSources, asked: AskedObject): Promise<ExplainAnswer> {
  const { flags, platform, signal } = sources;
  const address = await findManager(flags, platform, () => read(sources), signal);
  const deps = { ...platform, connection: await connect(sources), timeout: timeoutOf(flags) };
  const { identity, leads, ...found } = await askManager(address, asked, deps, signal);
  const standby =
    found.noLeader === undefined
      ? "a standby replica, which knows no reasons: ask the leader"
      : "a standby replica, which knows no reasons";
  const role = leads ? "the leader" : standby;
  return { ...found, source: `the manager ${identity} at ${address.url}, ${role}` };
}

async function fromEvaluation(sources: ExplainSources, asked: AskedObject): Promise<ExplainAnswer> {
  const { provider, platform, configuration, flags, signal } = sources;
  const errors = configuration.problems.filter(({ severity }) => severity === "error");
  const [missing] = errors;
  // On the machine of an operator, settings and files with credentials are usually absent. What is set must be right.
  if (!errors.every(isOnlyAbsent)) throw new ConfigurationError(errors);
  const { api } = await read(sources);
  if (missing !== undefined)
    return fromObjects(api, asked, sources, `the cloud is not configured here (${missing.text})`);
  const refusal = await listingRefusal(api, signal);
  if (refusal !== undefined)
    return fromObjects(api, asked, sources, `a manager needs more permissions (${refusal})`);
  const settings = { ...configuration.settings, flags };
  const options = { provider, settings, platform, timeout: timeoutOf(flags) };
  const reported = await readEvents(api, asked, signal);
  const found = await observeOnce(options, signal, (evaluated) => describe(evaluated, asked, reported));
  const leader = await leadershipText(api, flags, platform.clock.now(), signal);
  const source = [
    "offline, from the API server and the cloud.",
    "Decisions are what a manager would do now; earlier attempts are only in the events.",
    assumedCluster(flags, "is compared with the marks of load balancers"),
    ...(leader?.isHeld === true ? [leader.text] : []),
    ...(leader?.isHeld === true && !flags.offline ? [howToAsk] : []),
  ].join(" ");
  return { ...found, ...noLeaderOf(leader), source };
}

async function fromObjects(
  api: KubeApi,
  asked: AskedObject,
  { flags, platform, program, signal }: ExplainSources,
  why: string,
): Promise<ExplainAnswer> {
  const leader = await leadershipText(api, flags, platform.clock.now(), signal);
  const found = await explainObjects(api, asked, flags, signal);
  const source = [
    `the API server only, because ${why}.`,
    "What the cloud has, pending attempts and holds are not known.",
    assumedCluster(flags, "is not checked"),
    ...(leader === undefined ? ["The leader is not known."] : []),
    ...(leader?.isHeld === true
      ? [
          leader.text,
          howToAsk,
          `Or run explain in the pod of a manager, which has the settings: ${inPod(program, "explain", flags)}`,
        ]
      : []),
  ].join(" ");
  return { ...found, ...noLeaderOf(leader), isPartial: true, source };
}
