import { managers } from "./rig/managers.ts";
import { perturb } from "./rig/perturbations.ts";

perturb("Fairlead", managers.quick, { isSafe: true });
