// An explanation: asks a running manager if one is named. Otherwise a manager that changes nothing evaluates everything once, with the
// same functions, if the cloud is configured here.

import { defined } from "../../core/defined.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { openConnection } from "../../kube/connection/connection.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { type Leaders, leadersOf } from "../doctor/leases-of-managers.ts";
import type { Flags } from "../flags/flag-table.ts";
import { connectionSource } from "../kube-client.ts";
import { type Evaluated, observeOnce } from "../observe-once.ts";
import { type Operator, patienceOf, readingClient } from "../operator.ts";
import { withoutRetry } from "../without-retry.ts";
import { askManager } from "./ask-manager.ts";
import { describeEverything, describeObject, isNotFound } from "./describe-object.ts";
import {
  type DescribedKind,
  type Description,
  isAboutVolumes,
  isNamespaced,
  waitingFor,
  withoutCloud,
  withoutLeader,
  withoutPromises,
} from "./description.ts";
import type { ExplainAnswer } from "./explain-text.ts";
import { findManager, inPod, leadershipText } from "./find-manager.ts";
import {
  type AskedObject,
  explainObjects,
  type Found,
  listingRefusal,
  maxWithEvents,
  type ReadEvents,
  readEvents,
} from "./from-api-server.ts";

const isOnlyAbsent = ({ reason }: Problem): boolean =>
  reason === "MissingSetting" || reason === "UnreadableFile";

/**
 * The certificate of a manager is usually its own, and no kubeconfig names its authority. So the leader is not asked before a user names
 * the one to trust.
 */
const howToAsk =
  "For its reasons, set --server-ca-file: it gets your credentials, so its certificate must be one that you trust.";

/** A wrong name or id makes every load balancer look like that of another cluster. */
const assumedCluster = ({ "cluster-name": name }: Flags): string =>
  `The marks of load balancers are compared with the cluster of the settings here (--cluster-name=${name}, or the id where the cloud has one); the manager may have another one.`;

const noLeaderOf = (leader: { readonly isHeld: boolean; readonly text: string } | undefined) =>
  leader?.isHeld === false ? { noLeader: leader.text } : {};

async function describe(
  { manager, unfinished, unlisted, refused }: Evaluated,
  asked: AskedObject,
  eventsOf: (asked: AskedObject) => Promise<ReadEvents>,
): Promise<Found> {
  const reported = await eventsOf(asked);
  const failure = manager.cloudProblem();
  const cloudProblem =
    failure && `The cloud does not answer this command, so its state is not known: ${withoutRetry(failure)}`;
  const shown = (object: Description): Description =>
    withoutPromises(cloudProblem === undefined ? object : withoutCloud(object, cloudProblem));
  /** The problem is named once: above the objects about which nothing is known, or else with what else is not known. */
  const about = (objects: readonly Description[]) =>
    objects.some(({ state }) => state === "unknown") ? defined({ cloudProblem }) : {};
  const warningsOf = (objects: readonly Description[]): readonly string[] => [
    ...reported.warnings,
    ...(unfinished === undefined || "cloudProblem" in about(objects) ? [] : [unfinished]),
    ...refused.map((request) => `the provider sent ${request}, which was refused; please file a bug`),
  ];
  if (asked === undefined) {
    const incomplete = [unfinished ?? [], unlisted].flat()[0];
    const described = describeEverything(manager).map(async (object, index) => {
      const { events } = index < maxWithEvents ? await eventsOf(object) : {};
      const again = events && describeObject(manager, object.kind, object.name, events);
      return shown(again === undefined || isNotFound(again) ? object : again);
    });
    const objects = await Promise.all(described);
    const warnings = [...warningsOf(objects), ...unlisted];
    return { ...defined({ incomplete }), ...about(objects), objects, warnings };
  }
  const answer = describeObject(manager, asked.kind, asked.name, reported.events ?? []);
  if (isNotFound(answer)) return { objects: [], notFound: answer, warnings: warningsOf([]) };
  const objects = [shown(answer)];
  return { objects, warnings: warningsOf(objects), ...about(objects) };
}

const connect = ({ settings, platform, signal }: Operator) =>
  openConnection(connectionSource(settings.flags, platform.environment), platform, signal);

const read = ({ settings, platform, userAgent, signal }: Operator) =>
  readingClient(settings.flags, platform, userAgent, signal);

export async function namespaceOf(operator: Operator): Promise<string> {
  return operator.settings.flags.namespace ?? (await connect(operator)).namespace ?? "default";
}

export async function findAnswer(operator: Operator, asked: AskedObject): Promise<ExplainAnswer> {
  const { server, offline, "server-ca-file": caFile } = operator.settings.flags;
  const isManagerNamed = server !== undefined || caFile !== undefined;
  const { platform, settings, program, signal } = operator;
  const { api } = await read(operator);
  const about = { flags: settings.flags, program };
  const leaders = await leadersOf(api, about, platform.clock.now(), signal);
  const answer = await (isManagerNamed && !offline ? fromManager : fromEvaluation)(operator, asked, leaders);
  const { severalLeaders, otherLeader } = leaders;
  const { noLeader } = answer;
  const objects = answer.objects
    .map((object) => (otherLeader === undefined ? object : waitingFor(object, otherLeader.holder)))
    .map((object) => (asked === undefined ? object : withoutLeader(object, noLeader)));
  return { ...answer, objects, ...defined({ severalLeaders, otherLeader: otherLeader?.text }) };
}

async function fromManager(
  operator: Operator,
  asked: AskedObject,
  { otherLeader }: Leaders,
): Promise<ExplainAnswer> {
  const {
    settings: { flags },
    platform,
    signal,
  } = operator;
  const address = await findManager(flags, platform, () => read(operator), signal);
  const deps = { ...platform, connection: await connect(operator), timeout: patienceOf(flags) };
  const { identity, leads, ...found } = await askManager(address, asked, deps, signal);
  const standby =
    found.noLeader === undefined && otherLeader === undefined
      ? "a standby replica, which knows no reasons: ask the leader"
      : "a standby replica, which knows no reasons";
  const role = leads ? "the leader" : standby;
  return { ...found, source: `the manager ${identity} at ${address.url}, ${role}` };
}

async function fromEvaluation(
  operator: Operator,
  asked: AskedObject,
  leaders: Leaders,
): Promise<ExplainAnswer> {
  const {
    platform,
    configuration,
    settings: { flags },
    signal,
  } = operator;
  const errors = configuration.problems.filter(({ severity }) => severity === "error");
  const [missing] = errors;
  // On the machine of an operator, settings and files with credentials are usually absent. What is set must be right.
  if (!errors.every(isOnlyAbsent)) throw new ConfigurationError(errors);
  const { api } = await read(operator);
  // A manager that does not run the volume controller has no caches of claims.
  if (asked !== undefined && isAboutVolumes(asked.kind) && !flags.controllers.includes("volume"))
    return fromObjects(api, asked, operator, leaders, "--controllers has no volume here");
  if (missing !== undefined)
    return fromObjects(api, asked, operator, leaders, `the cloud is not configured here (${missing.text})`);
  const refusal = await listingRefusal(api, signal);
  if (refusal !== undefined)
    return fromObjects(api, asked, operator, leaders, `a manager needs more permissions (${refusal})`);
  const eventsOf = (object: AskedObject) => readEvents(api, object, signal);
  const found = await observeOnce(operator, (evaluated) => describe(evaluated, asked, eventsOf));
  const leader = await leadershipText(api, flags, platform.clock.now(), signal);
  const source = [
    "offline, from the API server and the cloud.",
    "Decisions are what a manager would do now; earlier attempts are only in the events.",
    assumedCluster(flags),
    ...(leader?.isHeld === true ? [leader.text] : []),
    ...(leader?.isHeld === true && !flags.offline && leaders.otherLeader === undefined ? [howToAsk] : []),
  ].join(" ");
  return { ...found, ...noLeaderOf(leader), source };
}

async function fromObjects(
  api: KubeApi,
  asked: AskedObject,
  operator: Operator,
  { otherLeader }: Leaders,
  why: string,
): Promise<ExplainAnswer> {
  const { platform, program, signal } = operator;
  const { flags } = operator.settings;
  const leader = await leadershipText(api, flags, platform.clock.now(), signal);
  const found = await explainObjects(api, asked, operator, signal);
  const source = [
    `the API server only, because ${why}.`,
    "What the cloud has, pending attempts and holds are not known.",
    "Whether its load balancer has the mark of this cluster is not checked.",
    ...(leader === undefined ? ["The leader is not known."] : []),
    ...(leader?.isHeld === true ? [leader.text] : []),
    ...(leader?.isHeld === true && otherLeader === undefined
      ? [
          howToAsk,
          `Or run explain in the pod of a manager, which has the settings: ${inPod(program, "explain", flags)}`,
        ]
      : []),
  ].join(" ");
  return { ...found, ...noLeaderOf(leader), isPartial: true, source };
}

// Reads the words after `explain`: the kind and the name of an object, as kubectl accepts them.

/** Without a name: every object that needs attention. */
interface ExplainRequest {
  readonly object?: { readonly kind: DescribedKind; readonly name: string };
}

const kinds: Readonly<Record<string, DescribedKind>> = {
  node: "Node",
  nodes: "Node",
  no: "Node",
  service: "Service",
  services: "Service",
  svc: "Service",
  persistentvolumeclaim: "PersistentVolumeClaim",
  persistentvolumeclaims: "PersistentVolumeClaim",
  pvc: "PersistentVolumeClaim",
  persistentvolume: "PersistentVolume",
  persistentvolumes: "PersistentVolume",
  pv: "PersistentVolume",
};

const forms =
  "explain node NAME, explain service [NAMESPACE/]NAME, explain pvc [NAMESPACE/]NAME, explain pv NAME, or explain alone";

function kindOf(word: string): DescribedKind | undefined {
  const lower = word.toLowerCase();
  return Object.hasOwn(kinds, lower) ? kinds[lower] : undefined;
}

/** `namespace` completes a name without one. */
export function readExplainRequest(
  words: readonly string[],
  namespace: string,
): ExplainRequest | { readonly wrong: string } {
  const [first = "", ...rest] = words;
  if (first === "") return {};
  // `service/web`, as kubectl prints it.
  const [before = "", after = ""] = first.split(/\/(.*)/s);
  const isPair = rest.length === 0 && after !== "" && kindOf(before) !== undefined;
  const [word, names] = isPair ? [before, [after]] : [first, rest];
  const kind = kindOf(word);
  if (kind === undefined) {
    const meant = didYouMean(word, ["node", "service", "pvc", "pv"]);
    const hint = meant === undefined ? `use ${forms}` : `did you mean ${meant}?`;
    return { wrong: `explain knows no kind ${JSON.stringify(word)}; ${hint}` };
  }
  const [name, unexpected] = names;
  if (name === undefined || name === "") return { wrong: `explain ${word} requires a name; use ${forms}` };
  if (unexpected !== undefined)
    return {
      wrong: `unexpected argument ${JSON.stringify(unexpected)} after the name; explain one object at a time`,
    };
  if (!isNamespaced(kind) && name.includes("/"))
    return { wrong: `a ${kind} has no namespace, got ${JSON.stringify(name)}` };
  return {
    object: { kind, name: isNamespaced(kind) && !name.includes("/") ? `${namespace}/${name}` : name },
  };
}
