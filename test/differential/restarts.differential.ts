import { compare } from "./rig/comparison.ts";
import { restarts } from "./scenarios/restart-scenarios.ts";

for (const scenario of restarts) compare("Restarts and outages", [scenario]);
