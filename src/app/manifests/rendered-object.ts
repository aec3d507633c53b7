// The types of the printed objects: the models of @kubernetes/client-node, with comments. Fields
// that Kubernetes does not have fail to compile.

import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1CSIDriver,
  V1DaemonSet,
  V1Deployment,
  V1Namespace,
  V1Pod,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1StorageClass,
} from "@kubernetes/client-node";
import type { Commented } from "./to-yaml.ts";

/** A printable model: times are strings, and each object may have comments. */
export type Rendered<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Rendered<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Rendered<T[Key]> } & Commented
      : T;

type OfKind<Kind extends string, T> = Omit<Rendered<T>, "apiVersion" | "kind" | "metadata"> & {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
};

export type RenderedObject =
  | OfKind<"ClusterRole", V1ClusterRole>
  | OfKind<"ClusterRoleBinding", V1ClusterRoleBinding>
  | OfKind<"CSIDriver", V1CSIDriver>
  | OfKind<"DaemonSet", V1DaemonSet>
  | OfKind<"Deployment", V1Deployment>
  | OfKind<"Namespace", V1Namespace>
  | OfKind<"Pod", V1Pod>
  | OfKind<"Role", V1Role>
  | OfKind<"RoleBinding", V1RoleBinding>
  | OfKind<"Secret", V1Secret>
  | OfKind<"Service", V1Service>
  | OfKind<"ServiceAccount", V1ServiceAccount>
  | OfKind<"StorageClass", V1StorageClass>;
