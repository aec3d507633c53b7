import { isOtherPeer, managers } from "./rig/managers.ts";
import { perturb } from "./rig/perturbations.ts";

perturb("upstream", managers.upstream, { isSafe: isOtherPeer() });
