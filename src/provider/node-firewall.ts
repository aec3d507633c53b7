// The firewall of the Nodes: the ports that Services open on them, in one set of rules for the whole cluster.

import type { Fields, Values } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { DesiredLoadBalancer } from "./load-balancers.ts";
import type { Plan, Step, StepOutcome } from "./plan.ts";
import type { Problem } from "./reasons.ts";

/** A Service that clients or load balancers reach through ports of the Nodes. */
export interface ExposedService<A extends Fields>
  extends Pick<DesiredLoadBalancer<A>, "owner" | "ports" | "healthCheckNodePort" | "facts"> {
  readonly type: "NodePort" | "LoadBalancer";
  readonly settings: Values<A>;
  /** Settings with an invalid annotation. */
  readonly frozen: ReadonlySet<keyof A & string>;
  /** It is paused: open nothing new for it, and keep what is open. */
  readonly isPaused: boolean;
}

/** A problem of one Service, or of the firewall itself. */
export interface FirewallProblem extends Problem {
  readonly service?: ExposedService<Fields>["owner"] | undefined;
}

/** The steps to the desired rules, and what they open and close, each as a short text. */
export interface FirewallPlan<S extends Step> extends Pick<Plan<S>, "steps"> {
  /** Instead of `steps` while closing is on hold: they only open. */
  readonly opening: readonly S[];
  readonly problems?: readonly FirewallProblem[] | undefined;
  /** How many ports are open now. */
  readonly open: number;
  readonly opens: readonly string[];
  readonly closes: readonly string[];
}

/**
 * Firewalls and security groups of Nodes with rules for all Services together. The framework observes before every change, and every five
 * minutes. It holds a change that closes many ports although no Service was seen to change.
 */
export interface NodeFirewall<A extends Fields, S extends Step, O = unknown> {
  observe(call: Call): Promise<O>;
  /** The ports that this Service opens. Pure. A change that loses none of them explains no closed port. */
  opens(service: ExposedService<A>): readonly string[];
  /** Pure. Never change a firewall without the mark, and close no port that a load balancer still forwards. */
  plan(services: readonly ExposedService<A>[], observed: O): FirewallPlan<S>;
  apply(step: S, call: Call): Promise<StepOutcome>;
}
