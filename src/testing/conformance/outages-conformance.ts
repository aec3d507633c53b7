// The contract of the capabilities that have no suite of their own: while requests fail, a call throws, and no promise is left behind whose
// rejection ends nothing. The other suites try the same with the fault `outage`.

import { describe, expect, test } from "bun:test";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { labWithTargets, makeDesired, partsOf, targetMachines } from "./desired.ts";
import { failureOf } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";

/** The suite of instances calls it, because each provider runs that one. */
export function outagesConformance(name: string, harness: Harness): void {
  const service = { ...makeDesired(harness, { name: "web" }), type: "NodePort", isHeld: false } as const;
  const machines = targetMachines(harness).map(({ key }) => key);
  const calls: Readonly<Partial<Record<keyof AnyCloud, (cloud: AnyCloud, call: Call) => Promise<unknown>>>> =
    {
      checkSettings: async (cloud, call) => cloud.checkSettings?.(call),
      nodeFirewall: async ({ nodeFirewall }, call) => {
        const observed = await nodeFirewall?.observe(call);
        const step = observed && nodeFirewall?.change(nodeFirewall.rulesOf(service, observed), observed);
        if (step !== undefined) await nodeFirewall?.apply(step, call);
      },
      machineTags: async ({ machineTags }, call) => {
        await machineTags?.add(machines, call);
        await machineTags?.remove(machines, call);
      },
    };

  const parts = partsOf(harness);
  const present = Object.entries(calls).filter(([part]) => parts[part as keyof AnyCloud] !== undefined);
  describe(`${name}: outages`, () => {
    test.each(present)(
      "%s throws when all requests fail, from the first or from a later one on",
      async (_, send) => {
        const clean = labWithTargets(harness);
        await clean.run((call) => send(clean.cloud, call));
        for (const position of clean.requests.keys()) {
          const lab = labWithTargets(harness);
          lab.faulty.failAt(position, "outage");
          expect(await failureOf(lab.run((call) => send(lab.cloud, call)))).toBeInstanceOf(CloudError);
        }
      },
    );
  });
}
