// The desired state in the suites: machines as targets (the harness's machines, or keys that need not exist), load balancers from
// the few options that a test needs, and routes.

import type { IpAddress, NodeName, ServiceUID } from "../../core/brand.ts";
import { cidr } from "../../core/cidr.ts";
import { defined } from "../../core/defined.ts";
import { ipAddress } from "../../core/ip.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Fields } from "../../core/settings.ts";
import type { BalancerTarget, DesiredLoadBalancer } from "../../provider/load-balancers.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { DesiredRoute } from "../../provider/routes.ts";
import { VirtualClock } from "../virtual-time/virtual-clock.ts";
import { Lab } from "./lab.ts";
import type { Harness, TargetMachine } from "./simulated-cloud.ts";

/** A test's specification of a Service. */
export interface DesiredOptions {
  /** The name of the Service, from which its uid is derived. */
  readonly name: string;
  /** TCP ports; 80 if unset. The node port is 30000 higher. */
  readonly ports?: readonly number[];
  readonly targets?: readonly BalancerTarget[];
  /** Clients that may connect. If unset, the Service specifies none. */
  readonly sourceRanges?: readonly string[];
  /** Annotation names without the provider's prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Set when the Service is being deleted. */
  readonly ending?: "delete" | "release";
}

/** A Node as a target: its name, the instance source and key of its machine, and its InternalIP. */
export function targetOf(name: string, source: string, key: string, address = "10.0.0.1"): BalancerTarget {
  return {
    node: name as NodeName,
    machine: { source, key },
    labels: {},
    addresses: [ipAddress(address)],
    internalIPs: [ipAddress(address)],
    draining: false,
  };
}

/** The desired load balancer of a Service; throws when the provider rejects the annotations. */
export function makeDesired(harness: Harness, options: DesiredOptions): DesiredLoadBalancer<Fields> {
  const uid = `5e1f-${options.name}` as ServiceUID;
  const fields: Fields = harness.definition.annotations?.fields ?? {};
  const { values, problems } = readSettings(fields, options.annotations ?? {}, { what: "annotation" });
  if (problems.length > 0) throw new Error(problems.map(({ text }) => text).join("\n"));
  const desired = defined({
    owner: { uid, namespace: "default", name: options.name },
    defaultName: `a${uid.replaceAll("-", "")}`.slice(0, 32),
    ports: (options.ports ?? [80]).map((port) => ({
      protocol: "TCP" as const,
      port,
      nodePort: 30_000 + port,
    })),
    targets: options.targets ?? [],
    families: ["IPv4" as const],
    externalTrafficPolicy: "Cluster" as const,
    settings: values,
    facts: {},
    ending: options.ending,
  });
  return { ...desired, sourceRanges: options.sourceRanges?.map((range) => cidr(range)) };
}

/** The capabilities of this provider. If unset, the capability is not implemented yet. */
export function partsOf(harness: Harness): Partial<AnyCloud> {
  try {
    return new Lab(harness).cloud;
  } catch {
    return {};
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
  if (harness.targets === undefined) {
    const source = partsOf(harness).instances?.sources[0].name ?? "machines";
    return ["1", "2", "3"].map((key) => ({ source, key }));
  }
  const prepare = () => harness.targets?.(harness.simulate(new VirtualClock())) ?? [];
  const machines = prepare();
  const [first, again] = [machines, prepare()].map((all) => all.map(({ key }) => key).join(", "));
  if (first !== again)
    throw new Error(`\`targets\` must return the same machines each time, got ${first} and ${again}.`);
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

/** Creates routes from a range to the first, second or third target. */
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
