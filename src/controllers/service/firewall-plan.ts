// Plans the Node firewall: the ports that all Services together open, and the ports to close. Pure.

import type { Fields } from "../../core/settings.ts";
import type { ExposedService, NodeFirewall, ObservedFirewall } from "../../provider/node-firewall.ts";
import type { Step } from "../../provider/plan.ts";

/** The step to the desired rules, and the ports that it opens and closes, each as a short text. */
export interface FirewallPlan {
  readonly step: Step | undefined;
  /** Replaces `step` while closing is on hold; only opens ports. */
  readonly opening: Step | undefined;
  /** The number of rules that currently open ports. */
  readonly open: number;
  readonly opens: readonly string[];
  readonly closes: readonly string[];
}

type Rules = ReadonlyMap<string, unknown>;

const missingIn = (all: Rules, rules: Rules): readonly string[] =>
  [...rules.keys()].filter((text) => !all.has(text));

export function planFirewall(
  firewall: NodeFirewall<Fields, Step>,
  services: readonly ExposedService<Fields>[],
  observed: ObservedFirewall<unknown>,
): FirewallPlan {
  if (observed.problems !== undefined)
    return { step: undefined, opening: undefined, open: 0, opens: [], closes: [] };
  const byText = (rules: readonly unknown[]): Rules =>
    new Map(rules.map((rule) => [firewall.textOf(rule), rule]));
  const open = byText(observed.rules);
  // Several Services may open the same port.
  const wanted = new Map(byText(firewall.inUse(services, observed)));
  for (const service of services)
    for (const [text, rule] of byText(firewall.rulesOf(service, observed)))
      if (!service.isHeld || open.has(text)) wanted.set(text, rule);
  const stepTo = (rules: Rules): Step | undefined => {
    const sorted = [...rules].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return firewall.change(
      sorted.map(([, rule]) => rule),
      observed,
    );
  };
  return {
    step: stepTo(wanted),
    opening: stepTo(new Map([...open, ...wanted])),
    open: open.size,
    opens: missingIn(open, wanted),
    closes: missingIn(wanted, open),
  };
}
