// Checks an operation of the cloud until it ends, in virtual time.

import type { Milliseconds } from "../../core/brand.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Done } from "../../provider/plan.ts";
import type { Lab } from "./lab.ts";

const maxChecks = 100;

/** Undefined if the cloud has lost it. Throws the error with which it failed. */
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
