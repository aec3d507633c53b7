// The machines that the suites use as targets of load balancers and routes: those of the harness, or keys that need not exist.

import type { IpAddress } from "../../core/brand.ts";
import { cidr } from "../../core/cidr.ts";
import { ipAddress } from "../../core/ip.ts";
import type { BalancerTarget } from "../../provider/load-balancers.ts";
import type { DesiredRoute } from "../../provider/routes.ts";
import { VirtualClock } from "../virtual-time/virtual-clock.ts";
import { Lab } from "./lab.ts";
import { targetOf } from "./make-desired.ts";
import type { Harness, TargetMachine } from "./simulated-cloud.ts";

const keys = ["1", "2", "3"] as const;

/** The name of the first source. A provider that is not implemented yet has none. */
function firstSourceOf(harness: Harness): string {
  try {
    return new Lab(harness).cloud.instances?.sources[0].name ?? "machines";
  } catch {
    return "machines";
  }
}

/** A lab whose simulated cloud has the machines of the targets. */
export function labWithTargets(harness: Harness): Lab {
  const lab = new Lab(harness);
  harness.targets?.(lab.simulated);
  return lab;
}

/** The machines of the targets, the same for each lab. */
export function targetMachines(harness: Harness): readonly TargetMachine[] {
  const prepare = (): readonly TargetMachine[] | undefined =>
    harness.targets?.(harness.simulate(new VirtualClock()));
  const machines = prepare();
  if (machines === undefined) {
    const source = firstSourceOf(harness);
    return keys.map((key) => ({ source, key }));
  }
  const keysOf = (some: readonly TargetMachine[] = []) => some.map(({ key }) => key).join(", ");
  const again = keysOf(prepare());
  if (keysOf(machines) !== again)
    throw new Error(
      `\`targets\` must return the same machines each time, got ${keysOf(machines)} and ${again}.`,
    );
  return machines;
}

function addressesOf({ addresses }: TargetMachine, index: number): readonly IpAddress[] {
  return (addresses ?? [`10.0.0.${index + 1}`]).map((address) => ipAddress(address));
}

/** The targets of load balancers: Nodes node-1, node-2 and node-3. */
export function balancerTargets(harness: Harness): readonly BalancerTarget[] {
  return targetMachines(harness).map((machine, index) => {
    const { addresses: _, ...identity } = machine;
    const target = targetOf(`node-${index + 1}`, machine.source, machine.key);
    const addresses = addressesOf(machine, index);
    return { ...target, machine: identity, addresses, internalIPs: addresses };
  });
}

/** Makes routes from a range to the first, second or third target. */
export function routesTo(harness: Harness): (range: string, number: 1 | 2 | 3) => DesiredRoute {
  const targets = balancerTargets(harness);
  return (range, number) => {
    const target = targets[number - 1];
    if (target === undefined) throw new Error(`There is no target ${number}.`);
    const { node, addresses, internalIPs, machine } = target;
    return {
      destination: cidr(range),
      target: { node, uid: String(number), addresses, internalIPs, ...(machine && { machine }) },
    };
  };
}
