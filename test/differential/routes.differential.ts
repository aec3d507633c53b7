import { compare } from "./rig/comparison.ts";
import { routes } from "./scenarios/route-scenarios.ts";

compare("Routes", routes);
