// What the stages of a round have in hand, and what they work with: the parts are made once by the controller, and each
// stage names those that it takes.

import type { Service } from "../../../kube/objects.ts";
import type { Call } from "../../../provider/call.ts";
import type { Tickets } from "../../operations.ts";
import type { BalancerInputs } from "../desired/balancer-inputs.ts";
import type { Claims } from "../observed/ownership.ts";
import type { Conditions } from "../status/conditions.ts";
import type { FreshListing } from "../observed/fresh-listing.ts";
import type { Groups } from "../queue/groups.ts";
import type { ServiceControllerOptions } from "../deps.ts";
import type { Progress } from "./progress.ts";
import type { ServiceTeller } from "../status/service-reporter.ts";
import type { Turns } from "../queue/owner-lock.ts";
import type { Wishes } from "../desired/desired-services.ts";

/** A group in hand. */
export interface Round {
  readonly group: string;
  /** Its Services, as they were when the round began. */
  readonly present: readonly Service[];
  readonly call: Call;
}

export interface RoundParts {
  readonly ports: ServiceControllerOptions;
  readonly groups: Groups;
  readonly wishes: Wishes;
  readonly freshListing: FreshListing;
  readonly claims: Claims;
  readonly turns: Turns;
  readonly tickets: Tickets;
  readonly inputs: BalancerInputs;
  readonly progress: Progress;
  readonly teller: ServiceTeller;
  readonly conditions: Conditions;
}
