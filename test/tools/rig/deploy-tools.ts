// Helm and kustomize, and their output for deploy/.

import { copyFileSync, cpSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { goTool, orSkipped } from "./install.ts";

const deploy = resolve(import.meta.dir, "../../../deploy");
export const chart = join(deploy, "chart");

/** Undefined after a line that states the reason. */
export const tools = orSkipped("chart", () => ({
  helm: goTool({ path: "helm.sh/helm/v4/cmd/helm", version: "v4.3.1", name: "helm" }),
  helm3: goTool({ path: "helm.sh/helm/v3/cmd/helm", version: "v3.22.0", name: "helm" }),
  kustomize: goTool({ path: "sigs.k8s.io/kustomize/kustomize/v5", version: "v5.8.2", name: "kustomize" }),
}));

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Ran {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/", ...env },
    stdin: "ignore",
  });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}

export function mustRun(command: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const { code, out, err } = run(command, env);
  if (code !== 0) throw new Error(`"${command.join(" ")}" exited with ${code}:\n${out}${err}`);
  return out;
}

/** The values as a file in JSON, which is valid YAML. */
export function valuesFile(folder: string, values: object): string {
  const path = join(folder, `values-${crypto.randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(values));
  return path;
}

export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly object[];
  readonly data?: Readonly<Record<string, string>>;
  readonly webhooks?: readonly object[];
  readonly spec: {
    readonly replicas?: number;
    readonly template: { readonly spec: Readonly<Record<string, unknown>> };
    readonly groups?: readonly object[];
  };
}

export const objectsIn = (text: string): readonly Rendered[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as Rendered | null) ?? []);

/** The overlay of a cloud in a copy of deploy/kustomize, with credentials. */
export function overlayCopy(folder: string, cloud: string): string {
  const copy = join(folder, `kustomize-${cloud}`);
  cpSync(join(deploy, "kustomize"), copy, { recursive: true });
  const overlay = join(copy, "overlays", cloud);
  copyFileSync(join(overlay, "credentials.env.example"), join(overlay, "credentials.env"));
  return overlay;
}
