// The objects that a smoke test would create: the machine, the volume's location, and the load
// balancer's plan. Only reads, and rejects a test that cannot succeed before anything is created.

import type { Operator } from "../../app/operator.ts";
import { prefetchAlone } from "../../cloud/inventory/shared-prefetch.ts";
import { type Cidr, type IpAddress, nodeName } from "../../core/brand.ts";
import { cidrContains, cidrFamily, cidrOfIp } from "../../core/cidr.ts";
import { defined } from "../../core/defined.ts";
import { parseIp } from "../../core/ip.ts";
import type { Call } from "../../provider/call.ts";
import type { Instance } from "../../provider/instances.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { Segments } from "../../provider/volumes.ts";
import { sizeText } from "../../volumes/csi/volume-requests.ts";
import { checkPlan, desiredBalancer, nodePortOf } from "./balancer-trial.ts";
import type { Part, RecordedMachine, SmokeRecord } from "./record.ts";
import { desiredRoute, refuseTaken, tableFor } from "./route-trial.ts";
import { SmokeFailure } from "./trial.ts";

export interface PreviewedPart {
  readonly part: Part;
  /** The object to create, or why none is created. */
  readonly text: string;
  readonly isSkipped: boolean;
}

export interface Preview {
  readonly record: SmokeRecord;
  readonly place: Segments | undefined;
  readonly parts: readonly PreviewedPart[];
}

interface Listed {
  readonly source: string;
  readonly instance: Instance;
}

/** Stops at the first machine if none is named, because it only determines where a volume can be. */
async function findMachine(
  { instances }: AnyCloud,
  name: string | undefined,
  call: Call,
): Promise<Listed | undefined> {
  const found: Listed[] = [];
  for (const source of instances?.sources ?? [])
    for await (const page of source.list(call))
      for (const instance of page) {
        const named = [...instance.names, instance.shortName, instance.title, instance.key];
        if (name === undefined) return { source: source.name, instance };
        if (named.includes(name)) found.push({ source: source.name, instance });
      }
  const [machine, other] = found;
  if (name !== undefined && machine === undefined)
    throw new SmokeFailure(
      "MachineNotFound",
      `The cloud lists no machine ${name}. Correct --machine, or omit it.`,
    );
  if (other !== undefined)
    throw new SmokeFailure(
      "AmbiguousMachine",
      `Several machines are called ${name}. Set --machine to an id.`,
    );
  return machine;
}

function recorded({ source, instance }: Listed, name: string): RecordedMachine {
  const ips = (kinds: readonly string[]): readonly IpAddress[] =>
    instance.addresses.flatMap(({ kind, value }) => (kinds.includes(kind) ? (parseIp(value) ?? []) : []));
  return {
    node: nodeName(name),
    machine: defined({ source, key: instance.key, handles: instance.handles }),
    addresses: ips(["InternalIP", "ExternalIP"]),
    internalIPs: ips(["InternalIP"]),
  };
}

export class SmokePreview {
  readonly #operator: Operator;
  readonly #cloud: AnyCloud;
  readonly #call: Call;

  constructor(operator: Operator, cloud: AnyCloud, call: Call) {
    this.#operator = operator;
    this.#cloud = cloud;
    this.#call = call;
  }

  /** Throws the reason why the test cannot succeed. */
  async take(empty: SmokeRecord): Promise<Preview> {
    const { machine: name, "route-range": range } = this.#operator.settings.flags;
    const { volumeDriver: driver } = this.#operator.provider;
    const { volumes } = this.#cloud;
    const needsPlace = volumes !== undefined && (driver?.topologyKeys.length ?? 0) > 0;
    const machine =
      name !== undefined || needsPlace ? await findMachine(this.#cloud, name, this.#call) : undefined;
    const target = machine && name !== undefined ? recorded(machine, name) : undefined;
    const withMachine = { ...empty, machine: target };
    const balancer = await this.#balancer(withMachine);
    const { part: route, table } = await this.#route(withMachine, range);
    const place = machine && driver?.topologyOf(machine.instance);
    const size = sizeText(driver?.sizes.min ?? 0);
    const volume: PreviewedPart =
      volumes === undefined || driver === undefined
        ? { part: "volume", text: "this cloud has none", isSkipped: true }
        : { part: "volume", text: `1 of ${size}, the smallest, attached to no machine`, isSkipped: false };
    const all = [balancer, route, volume];
    const open = all.flatMap(({ part, isSkipped }) => (isSkipped ? [] : part));
    const routed = route.isSkipped || range === undefined ? undefined : { destination: range, table };
    return { record: { ...withMachine, open, route: routed }, place, parts: all };
  }

  /** Traffic to these machines would go to a different machine. */
  async #refuseAddresses(range: Cidr): Promise<void> {
    for (const source of this.#cloud.instances?.sources ?? [])
      for await (const page of source.list(this.#call))
        for (const { addresses, title, key } of page)
          for (const { value } of addresses) {
            const ip = parseIp(value);
            if (ip !== undefined && cidrContains(range, cidrOfIp(ip)))
              throw new SmokeFailure(
                "RangeInUse",
                `--route-range ${range} contains ${ip}, an address of the machine ${title ?? key}. Choose a range that nothing uses.`,
              );
          }
  }

  async #balancer(record: SmokeRecord): Promise<PreviewedPart> {
    const { loadBalancers: balancers } = this.#cloud;
    if (balancers === undefined)
      return { part: "load balancer", text: "this cloud has none", isSkipped: true };
    const desired = desiredBalancer(this.#operator.provider, record);
    const { targets, ...rest } = desired;
    const [target] = targets;
    const reached = target === undefined || (balancers.reaches?.(rest, undefined)(target) ?? true);
    if (reached !== true) {
      const why = typeof reached === "string" ? reached : reached.byDesign;
      throw new SmokeFailure(
        "TargetsUnreachable",
        `The load balancer cannot reach the machine ${target?.node}: ${why}. Name another one with --machine, or omit it.`,
      );
    }
    const plan = balancers.plan(desired, undefined, await prefetchAlone(balancers, desired, this.#call));
    checkPlan(plan);
    if (plan.steps.length === 0)
      throw new SmokeFailure(
        "NothingPlanned",
        `This cloud creates no load balancer ${target === undefined ? "without targets" : "for this machine"}: it waits for ${plan.wait?.waitingFor ?? "nothing"}. ${target === undefined ? "Set --machine to one that exists." : "Name another one with --machine."}`,
      );
    const to =
      target === undefined
        ? "without targets, because --machine is not set"
        : `to port ${nodePortOf(80)} of the machine ${target.node}`;
    return { part: "load balancer", text: `1, for port 80 and later 81, ${to}`, isSkipped: false };
  }

  async #route(
    record: SmokeRecord,
    range: Cidr | undefined,
  ): Promise<{ readonly part: PreviewedPart; readonly table?: string | undefined }> {
    const skipped = (text: string) => ({ part: { part: "route", text, isSkipped: true } as const });
    const { routes } = this.#cloud;
    if (routes === undefined) return skipped("this cloud has none");
    if (record.machine === undefined || range === undefined)
      return skipped("none, because a route needs --machine and --route-range");
    const desired = desiredRoute({ ...record, route: { destination: range } });
    const { clock } = this.#operator.platform;
    const table = desired && tableFor(this.#cloud, desired, clock);
    if (table === undefined) return skipped("none, because no route table serves this machine");
    const family = cidrFamily(range);
    if (!table.families.includes(family))
      return skipped(`none, because the cloud has no routes for ${family}`);
    await refuseTaken(table, range, clock, this.#call);
    await this.#refuseAddresses(range);
    const text = `1, from ${range} to the machine ${record.machine.node}`;
    return { part: { part: "route", text, isSkipped: false }, table: table.name };
  }
}
