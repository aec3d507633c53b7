// The contract of `LoadBalancers.needsHandles: false`: without a listing of instances, the same load balancers are created and changed.

import { expect, test } from "bun:test";
import { messageOf } from "../../core/error-message.ts";
import type { BalancerTarget } from "../../provider/load-balancers.ts";
import { converge } from "./converge.ts";
import { balancerTargets, labWithTargets, makeDesired } from "./desired.ts";
import type { Harness } from "./simulated-cloud.ts";

/**
 * Tests that load balancers need no `Machine.handles` with the settings of this harness. `loadBalancersConformance` includes it for
 * its settings; call it at the top level of a test file for the other settings that `needsHandles` depends on.
 */
export function handlesConformance(
  name: string,
  harness: Harness,
  annotations: Readonly<Record<string, string>> = {},
): void {
  test(`${name}: declares needsHandles: false, and keeps load balancers without a listing of instances`, async () => {
    expect(labWithTargets(harness).loadBalancers.needsHandles).toBe(false);
    expect(await deviationsWithoutHandles(harness, annotations)).toEqual([]);
  });
}

/** How load balancers differ without handles: a request that lists instances, a plan that does not end, or a different state. */
export async function deviationsWithoutHandles(
  harness: Harness,
  annotations: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const shown: string[] = [];
  const [known, bare] = [labWithTargets(harness), labWithTargets(watched(harness, shown))];
  for (const lab of [known, bare]) lab.simulated.addMachine(unlisted);
  const targets = balancerTargets(harness);
  const phases = [
    { ports: [80], targets: targets.slice(0, 2) },
    { ports: [80, 8443], targets: targets.slice(1) },
    { targets: [], ending: "delete" as const },
  ];
  for (const [index, phase] of phases.entries()) {
    const desired = (some: readonly BalancerTarget[]) => [
      makeDesired(harness, { name: "web", annotations, ...phase, targets: some }),
    ];
    await converge(known, desired(phase.targets));
    try {
      await converge(bare, desired(phase.targets.map(withoutHandles)));
    } catch (error) {
      return [`Phase ${index} does not end without handles: ${messageOf(error)}`];
    }
    if (shown.length > 0) return [`Phase ${index} lists instances: ${shown[0]}`];
    if (bare.state !== known.state)
      return [
        `Phase ${index} ends in a different state without handles: ${bare.state} instead of ${known.state}`,
      ];
  }
  return [];
}

function withoutHandles({ machine, ...target }: BalancerTarget): BalancerTarget {
  return machine === undefined
    ? target
    : { ...target, machine: { source: machine.source, key: machine.key } };
}

/** The name of a machine, which only a listing of instances shows. */
const unlisted = "unlisted-machine";

/** Notes the requests whose response shows the machine. */
function watched(harness: Harness, shown: string[]): Harness {
  const simulate: Harness["simulate"] = (clock) => {
    const simulated = harness.simulate(clock);
    return {
      ...simulated,
      transport: async (request, signal) => {
        const response = await simulated.transport(request, signal);
        const text = await response.clone().text();
        if (text.includes(unlisted)) shown.push(`${request.method} ${request.url}`);
        return response;
      },
    };
  };
  return { ...harness, simulate };
}
