// The manager's process as load balancers and routes see it: its memory between two plans (rejected targets
// and its route changes, which a restart loses), how it repeats passes and waits for operations, and its crashes. All in
// virtual time.

import { requestedDelay } from "../../cloud/error-policies.ts";
import { type RouteTable, routeTablesOf } from "../../cloud/ideal-route-tables.ts";
import { RefusedTargets } from "../../controllers/service/state/refused-targets.ts";
import { type Milliseconds, milliseconds, type ServiceUID, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Clock } from "../../platform/clock.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Done } from "../../provider/plan.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { DeadlineError } from "../../runtime/deadline.ts";
import type { Lab } from "./lab.ts";

/** Thrown by a simulated crash of the process. */
export class Crash extends Error {}

export class ProcessMemory {
  readonly #refused = new Map<ServiceUID, RefusedTargets>();
  #routeTables: readonly RouteTable[] | undefined;

  refused(uid: ServiceUID): RefusedTargets {
    const known = this.#refused.get(uid) ?? new RefusedTargets();
    this.#refused.set(uid, known);
    return known;
  }

  /** The route tables, which remember the route changes of the process. */
  routeTables({ routes }: AnyCloud, clock: Clock): readonly RouteTable[] {
    if (routes === undefined) throw new Error("This provider has no routes.");
    this.#routeTables ??= routeTablesOf(routes, clock);
    return this.#routeTables;
  }
}

const memories = new WeakMap<AnyCloud, ProcessMemory>();

/** A new connection represents a new process. */
export function memoryOf(cloud: AnyCloud): ProcessMemory {
  const known = memories.get(cloud) ?? new ProcessMemory();
  memories.set(cloud, known);
  return known;
}

const maxPasses = 100;
const errorDelay: Milliseconds = seconds(5);

/**
 * Repeats the pass until it returns that nothing is left to do. A cloud error ends a pass; the next pass begins after the
 * delay that the error requests, once reads show the possible effect of the failed request. `note` describes the pass, for the
 * message if this never ends.
 */
export async function repeatPasses(
  { clock }: Lab,
  what: string,
  readsLag: Milliseconds,
  pass: (note: (text: string) => void) => Promise<boolean>,
): Promise<void> {
  let last = "";
  for (let passes = 0; passes < maxPasses; passes++) {
    try {
      const isDone = await pass((text) => {
        last = text;
      });
      if (isDone) return;
    } catch (error) {
      if (!CloudError.is(error) && !(error instanceof DeadlineError)) throw error;
      last = `The last pass failed: ${messageOf(error)}`;
      const requested = requestedDelay(error, clock) ?? errorDelay;
      await clock.advance(milliseconds(Math.max(requested, errorDelay) + readsLag));
    }
  }
  throw new Error(`The ${what} did not converge within ${maxPasses} passes. ${last}`);
}

const maxChecks = 100;

/** Undefined if the cloud has lost the operation. Throws the error with which it failed. */
export async function endOfOperation(
  lab: Lab,
  operation: string,
  checkAfter: Milliseconds,
): Promise<Done | undefined> {
  const { pending } = lab.cloud;
  if (pending === undefined) {
    throw new Error(`A change returned the operation ${operation}, but this provider has no \`pending\`.`);
  }
  for (let delay = checkAfter, checks = 0; checks < maxChecks; checks++) {
    await lab.clock.advance(delay);
    const answer = (await lab.run((call) => pending.check([operation], call))).get(operation);
    if (CloudError.is(answer)) throw answer;
    if (answer === undefined || answer.done) return answer;
    delay = answer.checkAfter;
  }
  throw new Error(`Operation ${operation} did not end within ${maxChecks} checks.`);
}
