// Plays specifications of one Service on a fresh cloud with a whole manager, one after the other, and returns the result of each.

import { ownPrefix } from "../../../src/controllers/well-known.ts";
import { putEndpoints } from "../put-endpoints.ts";
import type { ServiceWorld } from "../service-world.ts";
import { name, type Specification, write } from "./specification.ts";

/** A cloud with the Nodes node-0 and node-1. */
export interface OpenCloud<S> {
  readonly world: ServiceWorld;
  start(): Promise<void>;
  /** The state that a provider may change, without ids and times, in an order that is independent of the requests. */
  state(): S;
  /** Texts that differ between runs, such as addresses that the cloud assigns, by their replacement. */
  aliases?(): readonly (readonly [text: string, alias: string])[];
}

/** The result of a specification in the cloud and on the Service. */
export interface Outcome<S> {
  readonly cloud: S;
  readonly service: {
    /** The annotations that the user has not written. */
    readonly annotations: Readonly<Record<string, string>>;
    readonly finalizers: readonly string[];
    readonly ingress: readonly {
      readonly ip?: string;
      readonly hostname?: string;
      readonly ipMode?: string;
    }[];
    readonly conditions: readonly unknown[];
  };
}

export interface Left<S> extends Outcome<S> {
  /** Whether there is neither an error nor a warning that the load balancer is not as specified. */
  readonly isClean: boolean;
  readonly isServed: boolean;
  /** All warnings since the beginning. */
  readonly warnings: readonly string[];
}

/** Warnings about settings without an effect, whatever the load balancer was before. */
const harmless = [/^Normal /, /has no effect/, /^Warning (UnsupportedRequest|AnnotationIgnored) /];

/** Waits until nothing has changed for as long as the slowest cloud takes between two steps. */
async function settle<S>(open: OpenCloud<S>): Promise<void> {
  let before = "";
  for (let round = 0; round < 30; round += 1) {
    await open.world.pass(60);
    const now = JSON.stringify([open.state(), open.world.get(name)]);
    if (now === before && open.world.manager.isIdle()) return;
    before = now;
  }
  throw new Error(`The Service does not settle:\n${open.world.events(name).join("\n")}`);
}

function renamed(value: unknown, aliases: readonly (readonly [string, string])[]): unknown {
  const text = aliases.reduce(
    (rest, [from, to]) => (from === "" ? rest : rest.replaceAll(from, to)),
    JSON.stringify(value),
  );
  return JSON.parse(text);
}

function serviceLeft(
  { world }: OpenCloud<unknown>,
  { annotations }: Specification,
): Outcome<unknown>["service"] {
  const { metadata, status } = world.get(name);
  const written = Object.entries(metadata.annotations ?? {}).filter(([key]) => !(key in annotations));
  return {
    annotations: Object.fromEntries(written.toSorted()),
    finalizers: metadata.finalizers ?? [],
    ingress: status.loadBalancer?.ingress ?? [],
    conditions: (status.conditions ?? []).map(({ lastTransitionTime: _, ...condition }) => condition),
  };
}

function leftBy<S>(open: OpenCloud<S>, specification: Specification, more: readonly RegExp[]): Left<S> {
  const { world, state, aliases = () => [] } = open;
  const { metadata, status, spec } = world.get(name);
  const { annotations = {} } = metadata;
  const uid = metadata.uid.replaceAll("-", "");
  const uids = [metadata.uid, uid, uid.slice(0, 31)].map((text) => [text, "UID"] as const);
  const isServed = (status.loadBalancer?.ingress ?? []).length > 0;
  const isOurs = spec.type === "LoadBalancer" && spec.loadBalancerClass === undefined;
  const isQuiet = world.events(name).every((event) => [...harmless, ...more].some((one) => one.test(event)));
  return {
    ...(renamed({ cloud: state(), service: serviceLeft(open, specification) }, [
      ...uids,
      ...aliases(),
    ]) as Outcome<S>),
    isServed,
    warnings: world.events(name).filter((event) => event.startsWith("Warning ")),
    // A paused Service changes nothing, without a warning if it needs nothing.
    isClean:
      annotations[`${ownPrefix}paused`] === undefined &&
      isQuiet &&
      isServed === isOurs &&
      (status.conditions ?? []).length === 0,
  };
}

interface PlayOptions {
  /** The process restarts before this specification. */
  readonly restart?: number | undefined;
  readonly harmless?: readonly RegExp[] | undefined;
}

/** The result of each specification; each one replaces the previous one. node-0 has a label and an endpoint. */
export async function play<S>(
  open: OpenCloud<S>,
  history: readonly Specification[],
  { restart, harmless: more = [] }: PlayOptions,
): Promise<readonly Left<S>[]> {
  const { world } = open;
  world.changeNode("node-0", (node) => ({
    ...node,
    metadata: { ...node.metadata, labels: { ...node.metadata.labels, pool: "web" } },
  }));
  putEndpoints(world, name, ["node-0"]);
  await open.start();
  const all: Left<S>[] = [];
  for (const [index, specification] of history.entries()) {
    if (index === restart) {
      await world.stop();
      await open.start();
    }
    await write(world, specification, history[index - 1]);
    await settle(open);
    all.push(leftBy(open, specification, more));
  }
  await world.stop();
  return all;
}
