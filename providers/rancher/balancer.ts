// The inputs of load balancer plans: the desired and the observed load balancer, their names and marks, and single steps. Pure.

import {
  type DesiredLoadBalancer,
  type ObservedLoadBalancer,
  ownersOfDefaultName,
  type ServiceUID,
  type Step,
  waitFor,
} from "#ccm";
import type { annotations } from "./annotations.ts";
import type { ApiCertificate, ApiExternalService, ApiHost, ApiLoadBalancer, Metadata } from "./resources.ts";

export type Annotations = typeof annotations;
export type Desired = DesiredLoadBalancer<Annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiLoadBalancer;
  /** All external services of the stack, by name in lower case, shared by all load balancers of a listing. */
  readonly services: ReadonlyMap<string, ServiceInUse>;
}

/** An external service, and the number of load balancers that forward to it, excluding those being removed. */
export interface ServiceInUse {
  readonly service: ApiExternalService;
  /** Whether the load balancer for which the external service was created does not exist. */
  readonly isOrphan: boolean;
  readonly users: number;
  /** The ids of users without the mark of this cluster. Two ids are enough to detect a load balancer other than a given one. */
  readonly unmarkedUsers: readonly string[];
}

/** The inputs of plans besides load balancers. */
export interface Prefetched {
  readonly stackID: string | undefined;
  /** The image of new load balancers. */
  readonly image: string | undefined;
  readonly certificates: readonly ApiCertificate[];
  /** Read only if a Service requests an address. */
  readonly hosts: readonly ApiHost[];
}

/** One change. `apply.ts` sends it. */
export type RancherStep = Step &
  (
    | {
        readonly kind: "create load balancer";
        readonly body: object;
        /** The name of the stack, if the body has none. It is created if it does not exist. */
        readonly stack?: string;
      }
    /** `nodes`: the Nodes that the external service is for. */
    | {
        readonly kind: "create service";
        readonly body: { stackId: string };
        readonly nodes: readonly string[];
      }
    | { readonly kind: "change"; readonly link: string; readonly body: object }
    | { readonly kind: "remove"; readonly link: string }
    /** Adds the mark, unless another Service or cluster has done so. */
    | { readonly kind: "adopt"; readonly link: string; readonly owner: ServiceUID }
    /** A retry gets time, because it may fail again. */
    | { readonly kind: "act"; readonly link: string; readonly body?: object; readonly isRetry?: boolean }
    /** Removes an external service, or only the mark of this cluster if an object other than `user` uses it. */
    | {
        readonly kind: "remove unused";
        readonly link: string;
        readonly consumers: string;
        readonly user: string;
        /** Whether nothing in Kubernetes needs the object. */
        readonly isLeftover: boolean;
      }
  );

export function waitForBalancer({ balancer }: Observed, what: string) {
  const { name, transitioningMessage } = balancer;
  return waitFor(`load balancer ${name} ${what}${transitioningMessage ? ` (${transitioningMessage})` : ""}`);
}

export const balancerName = (defaultName: string): string => `lb-${defaultName}`;

const namePrefix = balancerName("");

export const ownersByName = (name: string): readonly ServiceUID[] =>
  name.startsWith(namePrefix) ? ownersOfDefaultName(name.slice(namePrefix.length)) : [];

const clusterKey = "fairlead.dev/cluster";
const ownerKey = "fairlead.dev/service-uid";

/** The mark: the cluster and the Service, in the metadata of objects that Fairlead creates. */
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
