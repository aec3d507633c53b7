// An explanation: queries a running manager if one is named. Otherwise, if the cloud is configured here, a manager that changes
// nothing evaluates everything once with the same functions.

import { ConfigurationError } from "../../app/configuration/configuration-error.ts";
import type { Flags } from "../../app/flags/flag-table.ts";
import { clusterNameText } from "../../app/leadership/lease-cluster-name.ts";
import { findLeaders, type Leaders } from "../../app/leadership/read-leases.ts";
import { type Operator, readingApi } from "../../app/operator.ts";
import { seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import { commandText, withoutFullStop } from "../../core/text.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { type Evaluated, observeOnce } from "../observe-once.ts";
import { askManager, connectionOf, findManager, inPod } from "./ask-manager.ts";
import { Describer, isNotFound } from "./describe-object.ts";
import {
  type Description,
  isAboutVolumes,
  isSettled,
  type NamedObject,
  withoutCloud,
  withoutLeader,
} from "./description.ts";
import { explainFrom, fromApiServer, listingRefusal, type ObjectSource } from "./explain-offline.ts";
import type { ExplainAnswer } from "./explain-text.ts";

const isOnlyAbsent = ({ reason }: Problem): boolean =>
  reason === "MissingSetting" || reason === "UnreadableFile";

/**
 * A manager's certificate is usually self-signed, and no kubeconfig contains its authority. The leader is therefore queried
 * only after a user names the manager to trust.
 */
const howToAsk =
  "For its reasons, set --server-ca-file: it gets your credentials, so its certificate must be one that you trust.";

/** With an incorrect name or id, every load balancer seems to belong to another cluster. */
function assumedCluster({ "cluster-name": name }: Flags, { own }: Access): string {
  const ofLeader = own?.clusterName;
  const other =
    ofLeader === undefined
      ? "; the manager may have a different one"
      : `, but the leader has --cluster-name=${clusterNameText(ofLeader)}`;
  return `The marks of load balancers are compared with the cluster of the settings here (--cluster-name=${name}, or the id where the cloud has one)${ofLeader === name ? "" : other}.`;
}

async function explainEvaluated(
  { manager, unfinished, unlisted, refused }: Evaluated,
  asked: NamedObject | undefined,
  { api }: Access,
  signal: AbortSignal,
): Promise<Omit<ExplainAnswer, "source">> {
  if (asked?.kind === "Service") await manager.askHealth(asked.name);
  const describer = new Describer(manager, true);
  const failure = manager.cloudProblem();
  const cause = failure && withoutFullStop(failure.text);
  const cloudProblem =
    cause &&
    `This command does not know the cloud's state: ${cause}. A manager that gets the same answer keeps what exists.`;
  const source: ObjectSource = {
    unsettled: async () => describer.everything.filter((subject) => !isSettled(describer.describe(subject))),
    find: async (named) => {
      const found = describer.find(named);
      return isNotFound(found) ? found : { ...found, events: [] };
    },
    describe: (subject) => {
      const object = describer.describe(subject);
      return failure && cloudProblem ? withoutCloud(object, { ...failure, text: cloudProblem }) : object;
    },
  };
  const { warnings, ...found } = await explainFrom(source, asked, api, signal);
  /** The problem of the cloud is reported once: above objects in an unknown state, or else among the warnings. */
  const isUnknown = found.objects.some(({ state }) => state === "unknown");
  const about = isUnknown ? defined({ cloudProblem }) : {};
  const all = [
    ...warnings,
    ...(unfinished === undefined || "cloudProblem" in about ? [] : [unfinished]),
    ...refused.map((request) => `the provider sent ${request}, which was refused; please file a bug`),
  ];
  if (asked !== undefined) return { ...found, warnings: all, ...about };
  const incomplete = [unfinished ?? [], unlisted].flat()[0];
  return { ...defined({ incomplete }), ...about, ...found, warnings: [...all, ...unlisted] };
}

export async function namespaceOf(operator: Operator): Promise<string> {
  return operator.settings.flags.namespace ?? (await connectionOf(operator)).namespace ?? "default";
}

export async function findAnswer(operator: Operator, asked: NamedObject | undefined): Promise<ExplainAnswer> {
  const { server, offline, "server-ca-file": caFile } = operator.settings.flags;
  const asksManager = (server !== undefined || caFile !== undefined) && !offline;
  const api = await readingApi(operator);
  const access = { api, ...(await findLeaders(api, operator)) };
  const answer = await (asksManager ? fromManager : fromEvaluation)(operator, asked, access);
  const { own, several } = access;
  const [severalLeaders, other] = [several, own?.kind === "other" ? own.found : undefined].map(
    (problem) => problem && messageIn(problem),
  );
  // A manager knows more about the Lease than a single reading shows.
  const none = asksManager || own?.kind !== "none" ? undefined : own.found;
  const text = answer.noLeader;
  const leaderless = text === undefined ? none : ({ severity: "error", reason: "NoLeader", text } as const);
  const { noLeader = none && messageIn(none), otherLeader = other } = answer;
  const isLed = noLeader === undefined && otherLeader === undefined;
  const shown = (object: Description): Description => {
    if (asked !== undefined) return leaderless === undefined ? object : withoutLeader(object, leaderless);
    return isLed || object.state !== "working" ? object : { ...object, state: "waiting" };
  };
  return {
    ...answer,
    objects: answer.objects.map(shown),
    ...defined({ noLeader, otherLeader, severalLeaders }),
  };
}

/** The API server and the current leader. */
type Access = Leaders & { readonly api: KubeApi };

async function fromManager(
  operator: Operator,
  asked: NamedObject | undefined,
  access: Access,
): Promise<ExplainAnswer> {
  const address = await findManager(operator, access);
  const { identity, leads, ...found } = await askManager(address, asked, operator);
  const isLed = found.noLeader === undefined && found.otherLeader === undefined;
  const standby = `a standby replica, which knows no reasons${isLed && access.own?.kind !== "other" ? ": ask the leader" : ""}`;
  return { ...found, source: `the manager ${identity} at ${address.url}, ${leads ? "the leader" : standby}` };
}

/** The leader, for the end of an answer, and how to query it unless it is another program or the user does not want that. */
function leaderTexts({ own }: Access, { offline }: Flags, ...more: readonly string[]): readonly string[] {
  if (own === undefined || own.kind === "none") return [];
  const text = `The leader is ${own.holder}, which renewed its Lease at ${own.renewTime ?? "an unknown time"}.`;
  return own.kind === "other" ? [text] : [text, ...(offline ? [] : [howToAsk]), ...more];
}

async function fromEvaluation(
  operator: Operator,
  asked: NamedObject | undefined,
  access: Access,
): Promise<ExplainAnswer> {
  const { configuration, settings, signal } = operator;
  const { flags } = settings;
  const errors = configuration.problems.filter(({ severity }) => severity === "error");
  const [missing] = errors;
  // An operator's machine usually lacks settings and credential files. Explicit settings must be valid.
  if (!errors.every(isOnlyAbsent)) throw new ConfigurationError(errors);
  // A manager that does not run the volume controller has no caches of claims.
  if (asked !== undefined && isAboutVolumes(asked.kind) && !flags.controllers.includes("volume"))
    return fromObjects(operator, asked, access, "--controllers has no volume here");
  if (missing !== undefined)
    return fromObjects(operator, asked, access, `the cloud is not configured here (${messageIn(missing)})`);
  const refusal = await listingRefusal(access.api, signal);
  if (refusal !== undefined)
    return fromObjects(operator, asked, access, `a manager needs more permissions (${refusal})`);
  const name = "cloud-call-timeout";
  // A user waits for the answer, so a slow cloud is skipped after this time.
  const impatient = { ...flags, [name]: settings.given[name] === undefined ? seconds(5) : flags[name] };
  const found = await observeOnce({ ...operator, settings: { ...settings, flags: impatient } }, (evaluated) =>
    explainEvaluated(evaluated, asked, access, signal),
  );
  const source = [
    "offline, from the API server and the cloud.",
    "Decisions are what a manager would do now; earlier attempts are only in the events.",
    assumedCluster(flags, access),
    ...leaderTexts(access, flags),
  ].join(" ");
  return { ...found, source };
}

async function fromObjects(
  operator: Operator,
  asked: NamedObject | undefined,
  access: Access,
  why: string,
): Promise<ExplainAnswer> {
  const { program, settings, signal } = operator;
  const { flags } = settings;
  const { api } = access;
  const found = await explainFrom(fromApiServer(api, operator, signal), asked, api, signal);
  const inManager = `Or run explain in the pod of a manager, which has the settings: ${commandText(inPod(program, "explain", flags))}`;
  const source = [
    `the API server only, because ${why}.`,
    "What the cloud has, pending attempts and holds are not known.",
    "Whether its load balancer has the mark of this cluster is not checked.",
    ...(access.own === undefined ? ["The leader is not known."] : []),
    ...leaderTexts(access, flags, inManager),
  ].join(" ");
  return { ...found, isPartial: true, source };
}
