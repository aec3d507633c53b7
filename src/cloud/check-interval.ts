// How often Nodes of one source can be checked, where it limits the requests per hour. Pure.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";
import type { InstanceSource } from "../provider/instances.ts";

type Limits = Pick<InstanceSource, "requestsPerHour" | "lookups">;

/** The shortest interval between two checks of this many Nodes; 0 without a limit. `machines`: as many as the last listing had. */
export function checkInterval(
  { requestsPerHour, lookups }: Limits,
  nodes: number,
  machines = Number.POSITIVE_INFINITY,
): Milliseconds {
  if (requestsPerHour === undefined) return milliseconds(0);
  const limit = lookups?.id?.limit;
  const requests = limit === undefined ? 1 : Math.ceil(Math.min(nodes, machines) / limit);
  return milliseconds((requests * minutes(60)) / requestsPerHour);
}
