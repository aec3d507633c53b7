import { compare } from "./rig/comparison.ts";
import { targets } from "./scenarios/target-scenarios.ts";

for (const scenario of targets) compare("Targets", [scenario]);
