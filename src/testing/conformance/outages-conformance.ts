// The contract of capabilities without their own suite: while requests fail, a call throws and leaves no unhandled
// rejection. The other suites cover this with the fault `outage`.

import { describe, expect, test } from "bun:test";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { labWithTargets, makeDesired, partsOf, targetMachines } from "./desired.ts";
import { failureOf } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";

/** Runs within the suite of instances, which every provider runs. */
export function outagesConformance(name: string, harness: Harness): void {
  const service = { ...makeDesired(harness, { name: "web" }), type: "NodePort", isHeld: false } as const;
  const machines = targetMachines(harness).map(({ key }) => key);
  const { checkSettings, nodeFirewall, machineTags } = partsOf(harness);
  const calls: readonly [string, unknown, (cloud: AnyCloud, call: Call) => Promise<unknown>][] = [
    ["checkSettings", checkSettings, async (cloud, call) => cloud.checkSettings?.(call)],
    ["machineTags", machineTags, async (cloud, call) => cloud.machineTags?.add(machines, call)],
    [
      "nodeFirewall",
      nodeFirewall,
      async ({ nodeFirewall: firewall }, call) => {
        const observed = await firewall?.observe(call);
        const step = observed && firewall?.change(firewall.rulesOf(service, observed), observed);
        return step && firewall?.apply(step, call);
      },
    ],
  ];
  describe(`${name}: outages`, () => {
    for (const [part, present, send] of calls)
      if (present !== undefined)
        test(`${part} throws when its requests fail, starting with any of them`, async () => {
          const clean = labWithTargets(harness);
          await clean.run((call) => send(clean.cloud, call));
          for (const position of clean.requests.keys()) {
            const lab = labWithTargets(harness);
            lab.faulty.failAt(position, "outage");
            expect(await failureOf(lab.run((call) => send(lab.cloud, call)))).toBeInstanceOf(CloudError);
          }
        });
  });
}
