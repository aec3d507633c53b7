// The labels that state the owner of a load balancer. The Go manager's label covers the whole load balancer, for one Service.
// Port labels cover single listeners: those of sharing Services, or those of a Service next to another program's listeners.
// Target labels then identify the targets of the Services. The labels must never change. Pure.

import type { ServiceUID } from "#ccm";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";

type Labels = ApiLoadBalancer["labels"];

/** The label that the Go manager puts on every load balancer and certificate: the uid of the Service. */
export const ownerLabel = "hcloud-ccm/service-uid";

export const scopes = ["namespace", "cluster"] as const;
/** Which Services may share a load balancer: Services in the same namespace, or in the cluster. */
export type Scope = (typeof scopes)[number];

/** The label of a port: `80.<namespace>.<uid of the cluster>.fairlead.dev/<Service>=<uid>_<scope>`. The key survives the uid of the Service. */
export interface PortMark {
  readonly port: number;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: ServiceUID;
  /** Undefined if the Service does not share the load balancer. */
  readonly scope: Scope | undefined;
}

/** The label of a Service that uses the load balancer but currently owns none of its ports, because other Services own them. */
export const noPort = 0;

const key = /^(0|[1-9]\d{0,4})\.([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})\.fairlead\.dev\/([a-z0-9-]{1,63})$/;
const value = /^([A-Za-z0-9-]{1,40})(?:_(namespace|cluster))?$/;

const keyOf = ({ port, namespace, cluster, name }: Omit<PortMark, "uid" | "scope">): string =>
  `${port}.${namespace}.${cluster}.fairlead.dev/${name}`;

export const serviceOf = ({ namespace, name }: Pick<PortMark, "namespace" | "name">): string =>
  `${namespace}/${name}`;

export const labelOf = (mark: PortMark): readonly [string, string] => [
  keyOf(mark),
  mark.scope === undefined ? mark.uid : `${mark.uid}_${mark.scope}`,
];

/** Other labels belong to users. At most one for each port: if a user has written two, the first in the order of their keys counts. */
export function portMarksOf({ labels }: Pick<ApiLoadBalancer, "labels">): readonly PortMark[] {
  const byPort = new Map<number | string, PortMark>();
  for (const label of Object.keys(labels).toSorted()) {
    const [, text, namespace = "", cluster = "", name = ""] = key.exec(label) ?? [];
    const [, uid, scope] = value.exec(labels[label] ?? "") ?? [];
    const port = Number(text);
    const part = port === noPort ? label : port;
    if (!(port <= 65_535) || uid === undefined || byPort.has(part)) continue;
    byPort.set(part, {
      port,
      namespace,
      cluster,
      name,
      uid: uid as ServiceUID,
      scope: scope as PortMark["scope"],
    });
  }
  return [...byPort.values()];
}

/** Whether labels cover single ports. */
export const isShared = (balancer: Pick<ApiLoadBalancer, "labels">): boolean =>
  portMarksOf(balancer).length > 0;

/** Whether a label names this Service. */
export const isMarkedFor = (balancer: Pick<ApiLoadBalancer, "labels">, uid: string): boolean =>
  balancer.labels[ownerLabel] === uid || portMarksOf(balancer).some((mark) => mark.uid === uid);

/** The load balancer with the listeners of this Service only. */
export function ownPart(balancer: ApiLoadBalancer, uid: string | undefined): ApiLoadBalancer {
  const marks = portMarksOf(balancer);
  if (marks.length === 0) return balancer;
  const ports = new Set(marks.filter((mark) => mark.uid === uid).map(({ port }) => port));
  return { ...balancer, services: balancer.services.filter(({ listen_port }) => ports.has(listen_port)) };
}

const targetLabel = /^((?:server|ip)-[\da-f-]{1,45})\.[a-z0-9-]{1,63}\.fairlead\.dev\/target$/;

/** How labels name a target: `server-123`, or `ip-192-0-2-1`. */
export const partOf = ({ type, server, ip }: ApiTarget): string =>
  `${type}-${server?.id ?? ip?.ip}`.toLowerCase().replaceAll(/[^\da-z]/g, "-");

/** The label value for a target that existed before Services needed it. Such a target stays. */
export const kept = "kept";

/** The label of a target: `server-123.<uid of the cluster>.fairlead.dev/target`. */
export const labelOfTarget = (part: string, cluster: string): string =>
  `${part}.${cluster}.fairlead.dev/target`;

/** Target labels, by the target's key in labels. */
export function targetLabelsOf(labels: Labels): ReadonlyMap<string, string> {
  return new Map(
    Object.keys(labels).flatMap((label) => {
      const [, part] = targetLabel.exec(label) ?? [];
      return part === undefined ? [] : [[part, label] as const];
    }),
  );
}

/** Whether a target belongs to Services: all targets do, unless labels identify them. */
export function isOfServices(labels: Labels): (target: ApiTarget) => boolean {
  const marked = targetLabelsOf(labels);
  return (target) => marked.size === 0 || labels[marked.get(partOf(target)) ?? ""] === "";
}
