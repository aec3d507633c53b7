// What the stages of a round have in hand, and what they work with: the parts are made once by the controller, and each
// stage names those that it takes.

import type { Service } from "../../../kube/objects.ts";
import type { Call } from "../../../provider/call.ts";
import type { Operations } from "../../operations.ts";
import type { ServiceControllerOptions } from "../deps.ts";
import type { BalancerInputs } from "../desired/balancer-inputs.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import type { FreshListing } from "../observed/fresh-listing.ts";
import type { Groups } from "../state/groups.ts";
import type { Progress } from "../state/progress.ts";
import type { Conditions } from "../status/conditions.ts";
import type { ServiceReporter } from "../status/service-reporter.ts";
import type { Turns } from "./owner-lock.ts";

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
  readonly desiredServices: DesiredServices;
  readonly freshListing: FreshListing;
  readonly turns: Turns;
  readonly operations: Operations;
  readonly inputs: BalancerInputs;
  readonly progress: Progress;
  readonly reporter: ServiceReporter;
  readonly conditions: Conditions;
}
