// Follows the changes that the cloud reports, so that the inventory and the load balancers are read
// again. Unknown names have no effect.

import { ChangeHints } from "../../cloud/change-hints.ts";
import { ChangeStream, type Hinted } from "../../cloud/change-stream.ts";
import type { SourceInventory } from "../../cloud/inventory/source-inventory.ts";
import { identityOf, isUninitialized, providerIDOf } from "../../controllers/node-facts.ts";
import { defaultLoadBalancerName } from "../../controllers/service/desired/to-desired.ts";
import type { ChangeHint } from "../../provider/changes.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Controllers } from "./compose-controllers.ts";
import type { ControllerContext } from "./controller-context.ts";

/** The inventories that a session's hints apply to. */
interface Targets {
  /** The change hints for each source. */
  readonly instances: ReadonlyMap<string, ChangeHints>;
  readonly balancers: ChangeHints | undefined;
}

export interface ComposedChanges extends Pick<Task, "run"> {
  readonly stream: ChangeStream;
}

/** Undefined if the cloud does not report changes. */
export function composeChanges(
  context: ControllerContext,
  composed: Controllers,
): ComposedChanges | undefined {
  const { clock, random, log, metrics } = context;
  const { changes } = context.connected.cloud;
  if (changes === undefined) return undefined;
  const targets = targetsOf(context, composed);
  const all = [...targets.instances.values(), targets.balancers].filter((target) => target !== undefined);
  const stream = new ChangeStream({
    changes,
    clock,
    random,
    onHints: (hints) => {
      for (const hint of hints) metrics.changeHint(addHint(targets, hint));
    },
    onReopened: () => {
      for (const target of all) target.add();
    },
    warn: (message) => log.warn(message),
    note: (message) => log.info(message),
  });
  const run = (signal: AbortSignal): Promise<void> =>
    stream.run(signal).finally(() => {
      for (const target of all) target.stop();
    });
  return { stream, run };
}

/** Returns whether the hint names something known and is not a repetition. */
function addHint({ instances, balancers }: Targets, hint: ChangeHint): boolean {
  if (hint.of === "instance") return instances.get(hint.source)?.add(hint.key, hint.version) === true;
  return balancers?.add(hint.owner && defaultLoadBalancerName(hint.owner), hint.version) === true;
}

function targetsOf(context: ControllerContext, composed: Controllers): Targets {
  const { clock, inventory } = context;
  const sources = inventory.isNeeded ? inventory.sources : [];
  const instances = sources.map((source) => {
    const refresh = (hinted: Hinted, since: number): void =>
      requestForHints(context, composed, source, hinted, since);
    const requests = (): number => source.latest?.pages ?? 1;
    return [source.source.name, new ChangeHints({ clock, refresh, requests })] as const;
  });
  const { service } = composed;
  const balancers =
    service.current &&
    new ChangeHints({
      clock,
      refresh: (hinted, since) => {
        if (service.isRunning) service.current?.requestForHints(hinted, since);
      },
      requests: () => service.current?.listing.latest?.pages ?? 1,
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
    node.current.expectChange(name, since);
    lifecycle.current.checkNow(name);
    source.request(identityOf(one), { since, foundSince: since, urgency: "refresh" });
  }
  if (known.length >= hinted.size) return;
  for (const one of nodes.list()) if (isUninitialized(one)) node.current.queue.add(one.metadata.name);
}
