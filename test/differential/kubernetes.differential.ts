import { compare } from "./rig/comparison.ts";
import { kubernetes } from "./scenarios/kubernetes-scenarios.ts";

compare("With kube-controller-manager", kubernetes, { withControllerManager: true });
