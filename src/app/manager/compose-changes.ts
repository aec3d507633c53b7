// Follows the changes that the cloud reports, and has the inventory and the load balancers read them again. Unknown names have no effect.

import { ChangeHints } from "../../cloud/change-hints.ts";
import { ChangeStream, type Hinted } from "../../cloud/change-stream.ts";
import type { SourceInventory } from "../../cloud/source-inventory.ts";
import { identityOf, isUninitialized, providerIDOf } from "../../controllers/node-facts.ts";
import { defaultLoadBalancerName } from "../../controllers/service/desired/to-desired.ts";
import type { ChangeHint } from "../../provider/changes.ts";
import { PausableWork } from "../../runtime/pausable-work.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Controllers } from "./compose-controllers.ts";
import type { ControllerContext } from "./controller-context.ts";

export interface ComposedChanges {
  /** Undefined, and no task, if the cloud does not report changes. */
  readonly stream: ChangeStream | undefined;
  readonly tasks: readonly Task[];
  /** Another connection to the cloud is used, which has its own stream. */
  readonly restart: () => void;
}

/** What the hints of one leadership session are about. */
interface Targets {
  /** By source. */
  readonly instances: ReadonlyMap<string, ChangeHints>;
  readonly balancers: ChangeHints | undefined;
}

export function composeChanges(context: ControllerContext, composed: Controllers): ComposedChanges {
  const { clock, random, log, metrics, connected } = context;
  const first = connected.cloud.changes;
  if (first === undefined) return { stream: undefined, tasks: [], restart: () => undefined };
  const work = new PausableWork();
  let targets: Targets = { instances: new Map(), balancers: undefined };
  const all = (): readonly ChangeHints[] => [
    ...targets.instances.values(),
    ...(targets.balancers === undefined ? [] : [targets.balancers]),
  ];
  const stream = new ChangeStream({
    changes: () => connected.cloud.changes ?? first,
    clock,
    random,
    onHints: (hints) => {
      for (const hint of hints) metrics.changeHint(addHint(targets, hint));
    },
    onReopened: () => {
      for (const target of all()) target.add();
    },
    warn: (message) => log.warn(message),
    note: (message) => log.info(message),
  });
  const follow = async (signal: AbortSignal): Promise<void> => {
    targets = targetsOf(context, composed);
    await stream.run(signal).finally(() => {
      for (const target of all()) target.stop();
    });
  };
  const task = { name: "changes", run: (signal: AbortSignal) => work.run(follow, signal) };
  const restart = (): void => {
    void work
      .pause("the connection to the cloud was replaced", AbortSignal.abort())
      .then(() => work.resume());
  };
  return { stream, tasks: [task], restart };
}

/** Returns whether it is about something that is known, and not a repetition. */
function addHint({ instances, balancers }: Targets, hint: ChangeHint): boolean {
  if (hint.of === "instance") return instances.get(hint.source)?.add(hint.key, hint.version) === true;
  return balancers?.add(hint.owner && defaultLoadBalancerName(hint.owner), hint.version) === true;
}

function targetsOf(context: ControllerContext, composed: Controllers): Targets {
  const { clock, inventory } = context;
  const instances = inventory.sources.map((source) => {
    const refresh = (hinted: Hinted, since: number): void =>
      requestForHints(context, composed, source, hinted, since);
    const requests = (): number => source.latest?.pages ?? 1;
    return [source.source.name, new ChangeHints({ clock, refresh, requests })] as const;
  });
  const balancers =
    composed.service &&
    new ChangeHints({
      clock,
      refresh: (hinted, since) => {
        // Of this session, which may begin later than the stream.
        const { service } = composed;
        if (service?.queue.work.isRunning === true) service.requestForHints(hinted, since);
      },
      requests: () => composed.service?.listing.latest?.pages ?? 1,
    });
  return { instances: new Map(instances), balancers };
}

/** An unknown machine may be the one that a joining Node waits for. */
function requestForHints(
  { nodes }: ControllerContext,
  { node, lifecycle }: Controllers,
  source: SourceInventory,
  hinted: Hinted,
  since: number,
): void {
  if (hinted === "any") {
    source.request(undefined, { since, urgency: "refresh" });
    return;
  }
  const keyOf = (providerID: string | undefined): string => (providerID && source.keyOf(providerID)) ?? "";
  const known = nodes.list().filter((one) => hinted.has(keyOf(providerIDOf(one))));
  for (const one of known) {
    const { name } = one.metadata;
    node.expectChange(name, since);
    lifecycle.checkNow(name);
    source.request(identityOf(one), { since, foundSince: since, urgency: "refresh" });
  }
  if (known.length >= hinted.size) return;
  for (const one of nodes.list()) if (isUninitialized(one)) node.queue.add(one.metadata.name);
}
