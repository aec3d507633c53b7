import { compare } from "./rig/comparison.ts";
import { nodes } from "./scenarios/node-scenarios.ts";

compare("Nodes", nodes);
