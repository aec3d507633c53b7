// All scenarios, by topic.

import type { Scenario } from "../rig/scenario.ts";
import { kubernetes } from "./kubernetes-scenarios.ts";
import { nodes } from "./node-scenarios.ts";
import { restarts } from "./restart-scenarios.ts";
import { routes } from "./route-scenarios.ts";
import { services } from "./service-scenarios.ts";
import { targets } from "./target-scenarios.ts";

export const topics: Readonly<Record<string, readonly Scenario[]>> = {
  Nodes: nodes,
  Services: services,
  Targets: targets,
  Routes: routes,
  "Restarts and outages": restarts,
  "With kube-controller-manager": kubernetes,
};
