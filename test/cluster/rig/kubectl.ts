// Runs the real kubectl from $KUBEBUILDER_ASSETS. Returns the output, or throws with the output if kubectl fails.

import { join } from "node:path";
import { startProcess } from "./kept-process.ts";

export type Kubectl = (...args: readonly string[]) => Promise<string>;

export const createKubectl = (kubeconfig: string, folder: string): Kubectl => {
  const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
  // The discovery cache must not be shared with other servers.
  const common = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(folder, "kubectl-cache")}`];
  return async (...args) => {
    const child = startProcess([join(assets, "kubectl"), ...common, ...args], { cwd: folder });
    const code = await child.exited;
    if (code === 0) return child.output().trim();
    throw new Error(`kubectl ${args.join(" ")} exited with ${code}:\n${child.output()}`);
  };
};
