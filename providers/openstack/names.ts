// The names and tags that mark the objects of a Service, in the form of the Go manager. They must never change. Pure.

/** Octavia and Neutron accept 255 characters. */
const cut = (name: string): string => name.slice(0, 255);

const prefix = "kube_service_";

interface Owner {
  readonly namespace: string;
  readonly name: string;
}

export const markOf = (cluster: string, { namespace, name }: Owner): string =>
  cut(`${prefix}${cluster}_${namespace}_${name}`);

export const isMark = (name: string): boolean => name.startsWith(prefix);

/** Kubernetes names contain no underscore, but cluster names may. Undefined if the mark is not such a name, or is shortened. */
export function readMark(mark: string): (Owner & { readonly cluster: string }) | undefined {
  const [, cluster, namespace, name] = /^kube_service_(.*)_([^_]+)_([^_]+)$/.exec(mark) ?? [];
  return cluster === undefined || namespace === undefined || name === undefined
    ? undefined
    : { cluster, namespace, name };
}

/** Whether both are marks of a Service with the same name, in any cluster. */
export function isSameService(mark: string, other: string): boolean {
  const [one, two] = [readMark(mark), readMark(other)];
  return mark === other || (one !== undefined && one.namespace === two?.namespace && one.name === two.name);
}

export const partName = (kind: "listener" | "pool" | "monitor", index: number, mark: string): string =>
  cut(`${kind}_${index}_${mark}`);

/** Whether this is the name of a part that a Service with this mark has created. */
export function isPartName(kind: "pool", name: string, mark: string): boolean {
  const index = /^[a-z]+_(\d+)_/.exec(name)?.[1];
  return index !== undefined && name === partName(kind, Number(index), mark);
}

/**
 * Clusters in the same project may have Services with the same name: another cluster's load balancer counts only if the Service
 * stores its id.
 */
export const renamedKey = (mark: string, id: string): string => `${mark} ${id}`;

export const descriptionOf = (cluster: string, { namespace, name }: Owner): string =>
  `Kubernetes external service ${namespace}/${name} from cluster ${cluster}`;

const floatingText = "Floating IP for Kubernetes external service";
export const floatingDescription = (cluster: string, { namespace, name }: Owner): string =>
  `${floatingText} ${namespace}/${name} from cluster ${cluster}`;
/** Whether the Go manager or Fairlead created the floating IP; other floating IPs are kept. */
export const isOwnFloating = ({ description = "" }: { readonly description?: string }): boolean =>
  description.includes(floatingText);

export const groupName = ({ uid, namespace, name }: Owner & { readonly uid: string }): string =>
  cut(`lb-sg-${uid}-${namespace}-${name}`);
/** The namespace and name in such a name, after the five parts of the uid; empty for another group. */
export const serviceOfGroup = (group: string): string => /^lb-sg-(?:[^-]+-){5}(.*)$/.exec(group)?.[1] ?? "";
export const groupDescription = (cluster: string, { namespace, name }: Owner): string =>
  `Security Group for ${namespace}/${name} Service LoadBalancer in cluster ${cluster}`;
