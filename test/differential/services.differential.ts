import { compare } from "./rig/comparison.ts";
import { services } from "./scenarios/service-scenarios.ts";

compare("Services", services);
