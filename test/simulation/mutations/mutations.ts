// All mutations of src and providers.

import { absenceMutations } from "./absence-mutations.ts";
import { balancerMutations } from "./balancer-mutations.ts";
import { cloudMutations } from "./cloud-mutations.ts";
import { kernelMutations } from "./kernel-mutations.ts";
import type { Mutation } from "./mutation.ts";
import { nodeMutations } from "./node-mutations.ts";
import { perturbationMutations } from "./perturbation-mutations.ts";
import { routeMutations } from "./route-mutations.ts";
import { serviceMutations } from "./service-mutations.ts";
import { volumeMutations } from "./volume-mutations.ts";

export const mutations: readonly Mutation[] = [
  ...volumeMutations,
  ...cloudMutations,
  ...perturbationMutations,
  ...absenceMutations,
  ...kernelMutations,
  ...nodeMutations,
  ...serviceMutations,
  ...balancerMutations,
  ...routeMutations,
];

export const mutationNamed = (name: string): Mutation | undefined =>
  mutations.find((mutation) => mutation.name === name);
