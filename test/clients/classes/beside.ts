// Fairlead serves the Services of one class beside the Go manager of the cloud, in one cluster and one account. A second cluster,
// where only the Go manager runs, gets the same changes. After each change, the Go manager's objects are equal in both clusters.

import { differences, type State } from "../../../scripts/rehearse/state.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { until } from "../../cluster/rig/until.ts";
import { type Change, changes, type ModelService, portsOf, type SimpleChange } from "./changes.ts";
import { type ClassCloud, ClassWorld, type ManagerName, managerNames, type Programs } from "./class-world.ts";

type Any = Readonly<Record<string, unknown>>;

const isEmpty = (one: unknown): boolean => one === null || (Array.isArray(one) && one.length === 0);

/** The value without members and list items that name one of these Services. Empty values count as missing. */
function without(value: unknown, names: readonly string[]): unknown {
  const isNamed = (one: unknown): boolean => names.some((name) => JSON.stringify(one).includes(name));
  if (Array.isArray(value))
    return value.flatMap((item: unknown) => {
      const rest = without(item, names);
      if (!isNamed(item)) return [rest];
      // All of the lists concern these Services.
      const isEmptied = !Object.values(rest as Any).some((one) => Array.isArray(one));
      return isNamed(rest) || isEmptied ? [] : [rest];
    });
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([key]) => !names.some((name) => key.includes(name)));
  const shown = members.map(([key, one]) => [key, without(one, names)] as const);
  return Object.fromEntries(shown.filter(([, one]) => !isEmpty(one)));
}

function stateOfServices(all: readonly Service[]): State {
  return Object.fromEntries(
    all.map(({ metadata, status }) => [
      `Service ${metadata.name}`,
      { annotations: metadata.annotations, finalizers: metadata.finalizers, status },
    ]),
  );
}

interface Expected {
  readonly model: ReadonlyMap<string, ModelService>;
  /** The Services of Fairlead. */
  readonly ofClass: readonly string[];
}

interface Seen {
  /** The state of the Go manager's objects. */
  readonly state: State;
  /** Objects that differ from what users want. */
  readonly wrong: readonly string[];
}

async function look(world: ClassWorld, { model, ofClass }: Expected, hasFairlead: boolean): Promise<Seen> {
  const all = await world.services();
  const cloud = await world.cloud.read();
  const state = world.cloud.readable({ ...stateOfServices(all), ...cloud });
  const has = world.cloud.portsIn(world.cloud.readable(cloud));
  const wrong = all.flatMap(({ metadata, status }) => {
    const { name, finalizers = [], deletionTimestamp } = metadata;
    const service = model.get(name);
    if (service === undefined || deletionTimestamp !== undefined) return [`${name} is still there`];
    const isServed = service.isBalanced && (!service.isOfClass || hasFairlead);
    const prefix = service.isOfClass ? "class.fairlead.dev/" : "service.kubernetes.io/";
    const is = {
      ports: (has[name] ?? []).toSorted(),
      finalizers: finalizers.map((one) => one.startsWith(prefix)),
      hasAddress: (status.loadBalancer?.ingress ?? []).length > 0,
    };
    const wanted = {
      ports: isServed ? portsOf(service, world.cloud.services).toSorted() : [],
      finalizers: isServed ? [true] : [],
      hasAddress: isServed,
    };
    return Bun.deepEquals(is, wanted)
      ? []
      : [`${name}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`];
  });
  const left = Object.keys(has).filter((name) => !model.has(name));
  return {
    state: without(state, ofClass) as State,
    wrong: [
      ...wrong,
      ...(world.cloud.faultsIn?.(cloud) ?? []),
      ...left.map((name) => `${name} has a load balancer, and does not exist`),
    ],
  };
}

interface Owned {
  /** The Services that belong to the manager before or after a change. */
  readonly now: ReadonlySet<string>;
  /** The Services that ever belonged to the manager, because events follow their reports. */
  readonly ever: ReadonlySet<string>;
}

interface Deeds {
  /** The number of requests by which Fairlead changed Kubernetes and the cloud. */
  readonly ofFairlead: number;
  /** Changes by managers to Services of the other manager. */
  readonly trespasses: readonly string[];
}

/** The changes since the last call. */
function takeDeeds(world: ClassWorld, owned: Readonly<Record<ManagerName, Owned>>): Deeds {
  const isForeign = (manager: ManagerName, text: string): boolean => {
    const other = owned[manager === "go" ? "fairlead" : "go"].now;
    const own = owned[manager][text.includes(" events ") ? "ever" : "now"];
    return [...other].some((name) => text.includes(name) && !own.has(name));
  };
  const writes = world.takeWrites();
  const sent = managerNames.flatMap((name) => {
    const all = world.cloud.accessOf(name).takeChanges();
    return all.map((change) => [name, world.cloud.readable(change)] as const);
  });
  const isOfNode = (name: ManagerName, write: string) => name === "fairlead" && / nodes(\/\S+)? /.test(write);
  const wrong = [
    ...writes.filter(([name, write]) => isOfNode(name, write) || isForeign(name, write)),
    ...sent.filter(([name, change]) => isForeign(name, change)),
  ];
  return {
    ofFairlead: [...writes, ...sent].filter(([name]) => name === "fairlead").length,
    trespasses: wrong.map(([name, what]) => `${name}: ${what}`),
  };
}

const titleOf = (change: Change): string =>
  "service" in change
    ? `${change.kind} ${JSON.stringify({ ...change.service, family: undefined })}`
    : JSON.stringify(change);

/** Throws if the Go manager's objects differ in the two worlds for minutes, or a Service lacks something that it needs. */
export async function playBeside(
  open: () => Promise<ClassCloud>,
  programs: Required<Programs>,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<Deeds> {
  await using alone = await ClassWorld.open(await open(), { go: programs.go });
  await using beside = await ClassWorld.open(await open(), programs);
  const { families, nodes } = beside.cloud;
  const model = new Map<string, ModelService>();
  const trespasses: string[] = [];
  let ofFairlead = 0;
  const ofClass = (isOfClass: boolean): readonly string[] =>
    [...model.values()].flatMap((one) => (one.isOfClass === isOfClass ? one.name : []));
  let owners: Readonly<Record<ManagerName, readonly string[]>> = { go: [], fairlead: [] };
  const ever = { go: new Set<string>(), fairlead: new Set<string>() };
  const settle = async (title: string): Promise<void> => {
    const expected = { model, ofClass: ofClass(true) };
    let reason = "";
    const isSettled = async (): Promise<boolean> => {
      const [one, other] = await Promise.all([look(alone, expected, false), look(beside, expected, true)]);
      reason = [...one.wrong, ...other.wrong, ...differences(one.state, other.state)].join("\n");
      return reason === "";
    };
    const explain = () => [reason, beside.log()].join("\n");
    await until(title, isSettled, { everyMs: 300, explain });
    const after = { go: ofClass(false), fairlead: ofClass(true) };
    for (const name of managerNames) for (const one of after[name]) ever[name].add(one);
    const owned = (name: ManagerName) => ({
      now: new Set([...owners[name], ...after[name]]),
      ever: ever[name],
    });
    const all = { go: owned("go"), fairlead: owned("fairlead") };
    const deeds = takeDeeds(beside, all);
    trespasses.push(...deeds.trespasses.map((one) => `${title}: ${one}`));
    ofFairlead += deeds.ofFairlead;
    owners = after;
  };
  const both = async (change: SimpleChange): Promise<void> => {
    const title = titleOf(change);
    const was = change.kind === "put" ? model.get(change.service.name) : undefined;
    if (change.kind === "put") model.set(change.service.name, change.service);
    if (change.kind === "delete") model.delete(change.name);
    await Promise.all([alone.apply(change, was), beside.apply(change, was)]);
    await settle(title);
  };
  const users = { families, nodes: nodes.length, random: seededRandom(seed) };
  for (const change of changes(users, count)) {
    if (change.kind !== "move") await both(change);
    else {
      const { service, isRecreated } = change;
      const { name } = service;
      const was = model.get(name) as ModelService;
      await both(
        isRecreated ? { kind: "delete", name } : { kind: "put", service: { ...was, isBalanced: false } },
      );
      await both({ kind: "put", service });
    }
  }
  for (const name of [...model.keys()]) await both({ kind: "delete", name });
  return { ofFairlead, trespasses };
}
