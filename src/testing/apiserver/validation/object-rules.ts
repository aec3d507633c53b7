// The rules of each kind. Kinds without an entry follow only the general rules.

import { nodeRules } from "./node-rules.ts";
import { eventRules, leaseRules, namespaceRules, podRules, secretRules, sliceRules } from "./other-rules.ts";
import type { Rules } from "./rules.ts";
import { serviceRules } from "./service-rules.ts";

const table: Readonly<Record<string, Rules>> = {
  nodes: nodeRules,
  services: serviceRules,
  namespaces: namespaceRules,
  events: eventRules,
  leases: leaseRules,
  pods: podRules,
  secrets: secretRules,
  endpointslices: sliceRules,
};

export const rulesFor = (storage: string): Rules => table[storage] ?? {};
