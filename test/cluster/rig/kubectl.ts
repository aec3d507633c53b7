// The real kubectl, as a user has it: from $KUBEBUILDER_ASSETS, with a kubeconfig of the test. What it writes to standard
// output is the answer; where it ends with an error, what it complained of is.

import { join } from "node:path";
import { startProcess } from "./kept-process.ts";

export type Kubectl = (...words: readonly string[]) => Promise<string>;

export const createKubectl = (kubeconfig: string, folder: string): Kubectl => {
  const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
  // What it keeps of the server's abilities is for this server only.
  const given = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(folder, "kubectl-cache")}`];
  return async (...words) => {
    const child = startProcess([join(assets, "kubectl"), ...given, ...words], { cwd: folder });
    const code = await child.exited;
    if (code === 0) return child.output().trim();
    throw new Error(`kubectl ${words.join(" ")} ended with ${code}:\n${child.output()}`);
  };
};
