// The firewall of the Nodes: the ports that Services open on them, in one set of rules for the whole cluster.

import type { Fields, Values } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { DesiredLoadBalancer } from "./load-balancers.ts";
import type { Step, StepOutcome } from "./plan.ts";
import type { ProviderProblem } from "./reasons.ts";

/** A Service that clients or load balancers reach through ports of the Nodes. */
export interface ExposedService<A extends Fields>
  extends Pick<DesiredLoadBalancer<A>, "owner" | "ports" | "healthCheckNodePort" | "facts"> {
  readonly type: "NodePort" | "LoadBalancer";
  readonly settings: Values<A>;
  /**
   * Set if the Service is paused, or an annotation in `deciding` is invalid: no new ports are opened for it, and its open ports
   * stay open.
   */
  readonly isHeld: boolean;
}

/** The current firewall in the cloud. `R` is a rule that opens ports. */
export interface ObservedFirewall<R> {
  readonly rules: readonly R[];
  /** If there are any problems, nothing is opened or closed, because the firewall may belong to another cluster. */
  readonly problems?: readonly ProviderProblem[] | undefined;
}

/**
 * Firewalls and security groups of Nodes with rules for all Services together. The framework observes before every change, and
 * every five minutes; it decides which ports are opened and closed. It holds a change that closes many ports although no Service
 * was seen to change. All functions but `observe` and `apply` are pure.
 */
export interface NodeFirewall<
  A extends Fields,
  S extends Step,
  R = unknown,
  O extends ObservedFirewall<R> = ObservedFirewall<R>,
> {
  /** The annotations that decide what a Service opens. */
  readonly deciding: readonly (keyof A & string)[];
  /** Reports a problem for a firewall without the mark. */
  observe(call: Call): Promise<O>;
  /**
   * The ports that this Service opens; for a held Service, regardless of its annotations. `observed` is undefined while only
   * Services are compared.
   */
  rulesOf(service: ExposedService<A>, observed: O | undefined): readonly R[];
  /** The observed rules that load balancers still need, regardless of their Services. */
  inUse(services: readonly ExposedService<A>[], observed: O): readonly R[];
  /** A short text, such as `tcp 30080 from 0.0.0.0/0`, that is the same for equal rules. */
  textOf(rule: R): string;
  /** The step that establishes exactly these rules; undefined if the firewall already has them. */
  change(rules: readonly R[], observed: O): S | undefined;
  apply(step: S, call: Call): Promise<StepOutcome>;
}
