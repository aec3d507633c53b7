// Explains without a running manager: a manager that changes nothing evaluates everything once, with the same functions.

import { describeEverything, describeObject, isNotFound } from "../describe/describe-object.ts";
import { type DescribedKind, withEvents } from "../describe/description.ts";
import type { Flags } from "../flags/table.ts";
import { connectKube } from "../kube-client.ts";
import { type Evaluated, type ObserveOptions, observeOnce } from "../observation/observe-once.ts";
import { ReadOnlyTransports } from "../observation/read-only-transport.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import type { ExplainAnswer } from "./explain-answer.ts";
import { leadershipText } from "./leadership.ts";
import { eventsOf } from "./object-events.ts";

export type AskedObject = { readonly kind: DescribedKind; readonly name: string } | undefined;

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

function describe(
  { manager, unfinished, refused }: Evaluated,
  asked: AskedObject,
): Omit<ExplainAnswer, "source"> {
  const warnings = [
    ...(unfinished === undefined ? [] : [unfinished]),
    ...refused.map((request) => `the provider sent ${request}, which was refused; please file a bug`),
  ];
  if (asked === undefined) return { objects: describeEverything(manager), warnings };
  const answer = describeObject(manager, asked.kind, asked.name);
  return isNotFound(answer) ? { objects: [], notFound: answer, warnings } : { objects: [answer], warnings };
}

export async function explainOffline(
  options: ObserveOptions & { readonly userAgent: string },
  asked: AskedObject,
  signal: AbortSignal,
): Promise<ExplainAnswer> {
  const { flags } = options.settings;
  const found = await observeOnce(options, signal, (evaluated) => describe(evaluated, asked));
  const [only] = asked === undefined ? [] : found.objects;
  const { api } = await readingClient(flags, options.platform, options.userAgent, signal);
  const source = [
    "offline, from the API server and the cloud.",
    "Decisions are what a manager would do now; earlier attempts are only in the events.",
    (await leadershipText(api, flags, signal)) ?? [],
  ]
    .flat()
    .join(" ");
  if (only === undefined || asked === undefined) return { ...found, source };
  const events = await eventsOf(api, asked.kind, asked.name, signal);
  return typeof events === "string"
    ? { ...found, source, warnings: [...(found.warnings ?? []), events] }
    : { ...found, source, objects: [withEvents(only, events)] };
}
