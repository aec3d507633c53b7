// What an operator can decide about Services, as one value with our defaults.

import { type Milliseconds, minutes } from "../../core/brand.ts";

export interface ServiceSettings {
  /** A balancer that somebody changed in the cloud: said, or said and put right. */
  readonly drift: "report" | "repair";
  /** How old an observation may be when a wish changes and nothing else happened. */
  readonly acceptsAge: Milliseconds;
}

export const serviceDefaults: ServiceSettings = {
  drift: "repair",
  acceptsAge: minutes(5),
};
