// What plans of load balancers work with: the desired and the observed load balancer, their names and marks, and single steps. Pure.

import {
  type DesiredLoadBalancer,
  type ObservedLoadBalancer,
  ownersOfDefaultName,
  type ServiceUID,
  type Step,
} from "#ccm";
import type { annotations } from "./annotations.ts";
import type { ApiCertificate, ApiExternalService, ApiHost, ApiLoadBalancer, Metadata } from "./resources.ts";

export type Annotations = typeof annotations;
export type Desired = DesiredLoadBalancer<Annotations>;
export type Own = Desired["settings"];

/** The mark of this cluster, in the metadata of what Fairlead creates. */
export interface Mark {
  readonly cluster: string;
}

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiLoadBalancer;
  /** All external services of its stack, by name in lower case. Shared by all load balancers of a listing. */
  readonly services: ReadonlyMap<string, ServiceInUse>;
}

/** An external service with the load balancers that forward to it. */
export interface ServiceInUse {
  readonly service: ApiExternalService;
  /** The load balancer for which it was created does not exist. */
  readonly isOrphan: boolean;
  /** Without those that are being removed. */
  readonly usedBy: readonly Pick<ApiLoadBalancer, "id" | "name" | "metadata">[];
}

/** What plans need besides load balancers. */
export interface Prefetched {
  readonly stackID: string | undefined;
  /** The image of new load balancers. */
  readonly image: string | undefined;
  readonly certificates: readonly ApiCertificate[];
  /** Only if a Service requests an address. */
  readonly hosts: readonly ApiHost[];
}

export interface RancherStep extends Step {
  readonly send: Send;
  /** The part that changes only targets: all of it, or this request. */
  readonly targets?: "all" | Send;
}

export type Send =
  | {
      readonly kind: "create";
      readonly type: "loadBalancerService" | "externalService";
      readonly body: object;
      /** The name of the stack, if the body has none. It is created if it does not exist. */
      readonly stack?: string;
      /** Those that an external service is for. */
      readonly nodes?: readonly string[];
    }
  | { readonly kind: "change" | "remove"; readonly link: string; readonly body?: object }
  /** Adds the mark, unless another Service or cluster has done so. */
  | { readonly kind: "adopt"; readonly link: string; readonly cluster: string; readonly owner: ServiceUID }
  /** A retry gets time, because it may fail again. */
  | { readonly kind: "act"; readonly link: string; readonly body?: object; readonly isRetry?: boolean }
  /** Removes an external service, unless something else than this load balancer uses it. */
  | {
      readonly kind: "remove unused";
      readonly link: string;
      readonly consumers: string;
      readonly user: string;
      /** The metadata without the mark, for what this cluster does not need and something else uses. */
      readonly release?: Metadata;
      readonly cluster?: string;
      /** Nothing in Kubernetes needs it. */
      readonly isLeftover?: boolean;
    };

export const balancerName = (defaultName: string): string => `lb-${defaultName}`;

/** The group of a Service, from its uid. */
export const groupOfOwner = (owner: ServiceUID): string =>
  balancerName(`a${owner.replaceAll("-", "")}`.slice(0, 32));

/** What a load balancer is called without a Service: its name was the mark. */
export const releasedName = (id: string): string => `released-${id}`;

/** The name of the external service of a Node. */
export function nodeServiceName(node: string): string {
  const name = node
    .replaceAll(/[^a-zA-Z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .replaceAll(/-{2,}/g, "-");
  // The API refuses a dash at the end.
  return name.slice(0, 63).replace(/-+$/, "");
}

/** The external service with all Nodes of a Service that checks their health. Its check cannot be changed, so the name has the port. */
export const checkedServiceName = (defaultName: string, port: number): string =>
  `${balancerName(defaultName)}-local-${port}`;

const clusterKey = "fairlead.dev/cluster";
const ownerKey = "fairlead.dev/service-uid";

export function metadataOf(cluster: string, owner: ServiceUID, before?: Metadata | null): Metadata {
  return { ...before, [clusterKey]: cluster, [ownerKey]: owner };
}

export function withoutMark(metadata: Metadata | null | undefined): Metadata {
  const { [clusterKey]: _cluster, [ownerKey]: _owner, ...rest } = metadata ?? {};
  return rest;
}

function textAt(metadata: Metadata | null | undefined, key: string): string | undefined {
  const value = metadata?.[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export const clusterOf = (metadata: Metadata | null | undefined) => textAt(metadata, clusterKey);
export const markedOwner = (metadata: Metadata | null | undefined) =>
  textAt(metadata, ownerKey) as ServiceUID | undefined;

const namePrefix = balancerName("");

export const ownersByName = (name: string): readonly ServiceUID[] =>
  name.startsWith(namePrefix) ? ownersOfDefaultName(name.slice(namePrefix.length)) : [];
