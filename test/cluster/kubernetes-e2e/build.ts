// Kubernetes' own end-to-end tests for networks as a program. Its first build takes minutes.

import { goProgram, orSkipped } from "../../tools/rig/install.ts";

export const kubernetesTests = (): string | undefined =>
  orSkipped("Kubernetes' own tests", () => goProgram(import.meta.dir));
