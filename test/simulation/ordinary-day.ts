// A few minutes without a fault, in which users create and delete Services, and a machine is removed. Listings lag, as those of clouds do.
// Nothing fails, so no Service gets a Warning.

import { minutes, seconds } from "../../src/core/brand.ts";
import type { Phases } from "./phases.ts";
import type { World } from "./world.ts";

interface StoredEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly metadata: { readonly uid: string };
}

const lag = 2_000;
/** More than a page of a listing. */
const names = ["one", "two", "three", "four", "five", "six", "seven", "eight"].map((name) => `day-${name}`);

const warningsOf = ({ server }: World): readonly StoredEvent[] =>
  (server.store.list("events") as unknown as readonly StoredEvent[]).filter(
    ({ type, involvedObject }) => type === "Warning" && involvedObject.kind === "Service",
  );

/** Checks 15: what is reported is a problem. */
export const passOrdinaryDay = async (world: World, pass: Phases["pass"]): Promise<boolean> => {
  const { cloud, cloudLies, users, invariants } = world;
  const before = new Map(warningsOf(world).map(({ metadata, count }) => [metadata.uid, count]));
  // A listing that hides for how long a load balancer is busy leads to a request that the cloud refuses.
  if (cloud.balancers.actionTime === 0) cloudLies.balancers.add({ kind: "lagging", by: lag }, minutes(30));
  for (const name of names) users.create(name, {});
  if (!(await pass(minutes(1)))) return false;
  const running = cloud.machines.list().filter(({ status }) => status === "running");
  if (running.length > 3) world.removeMachine(running[0]?.name ?? "");
  if (!(await pass(minutes(3)))) return false;
  for (const name of names) users.delete(name);
  if (!(await pass(seconds(90)))) return false;
  cloudLies.balancers.clear();
  for (const { metadata, count, reason, message, involvedObject } of warningsOf(world))
    if (before.get(metadata.uid) !== count || !before.has(metadata.uid))
      invariants.violated(15, `${involvedObject.name} got the Warning ${reason}: ${message}`);
  return invariants.violations.length === 0;
};
