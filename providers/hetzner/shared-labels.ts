// The labels that a Service needs on a load balancer that it shares, and those that stay when it leaves. Pure.

import { hasAll } from "#ccm";
import {
  kept,
  labelOf,
  labelOfTarget,
  noPort,
  ownerLabel,
  partOf,
  portMarksOf,
  targetLabelsOf,
} from "./marks.ts";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";
import { needs, type Parts, type Request } from "./shared-parts.ts";
import type { WantedTargets } from "./targets.ts";

type Labels = ApiLoadBalancer["labels"];

interface Needs {
  /** The cluster's uid. */
  readonly home: string | undefined;
  readonly ports: readonly number[];
  readonly specs: WantedTargets["specs"];
  readonly isUnwanted: (part: string) => boolean;
}

/** A Service without a port keeps its place. */
function portLabels(requested: Request, ports: readonly number[], cluster: string): Labels {
  const { owner, settings } = requested;
  const marked = ports.length > 0 ? new Set(ports) : [noPort];
  return Object.fromEntries(
    [...marked].map((port) => labelOf({ port, cluster, ...owner, scope: settings.shared })),
  );
}

const without = (labels: Labels, isDropped: (key: string, value: string) => boolean): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([key, value]) => !isDropped(key, value)));

/** Undefined if they stay as they are, or if the uid of the cluster is not known. */
export function changedLabels(
  requested: Request,
  { labels, targets: existing }: ApiLoadBalancer,
  { view, mine, others, strangers }: Parts,
  { home, ports, specs, isUnwanted }: Needs,
): Labels | undefined {
  if (home === undefined) return undefined;
  const needed = [
    ...ports.flatMap((port) => needs(requested, port)),
    ...view.own.map((one) => one.listen_port),
  ];
  const has = new Set(existing.map(partOf));
  const marks = targetLabelsOf(labels);
  const gone = [...marks].filter(([part]) => !has.has(part) && isUnwanted(part));
  const dropped = new Set([...mine.map((mark) => labelOf(mark)[0]), ...gone.map(([, label]) => label)]);
  const uids = new Set<string>([requested.owner.uid, ...others.map(({ uid }) => uid)]);
  // While another program replaces its listener, only labels show that it has targets.
  const areMarked = strangers.length > 0 || marks.size > 0;
  const before = marks.size > 0 ? [] : existing.filter(({ type }) => type !== "label_selector");
  const marked = areMarked ? [...before, ...specs.map(({ target }) => target)] : [];
  const labelFor = (target: ApiTarget) => {
    const part = partOf(target);
    const label = marks.get(part) ?? labelOfTarget(part, home);
    return [label, has.has(part) ? (labels[label] ?? kept) : ""] as const;
  };
  const next: Labels = {
    ...without(labels, (key, value) => (key === ownerLabel ? uids.has(value) : dropped.has(key))),
    ...portLabels(requested, needed, home),
    ...Object.fromEntries(marked.map(labelFor)),
  };
  return hasAll(labels, next) && hasAll(next, labels) ? undefined : next;
}

/** The labels of a new load balancer. Undefined: the uid of the cluster is needed, and unknown. */
export function newLabels(requested: Request, cluster: string | undefined): Labels | undefined {
  const { owner, ports, settings } = requested;
  if (settings.shared === undefined) return { [ownerLabel]: owner.uid };
  const tcp = ports.flatMap(({ protocol, port }) => (protocol === "TCP" ? needs(requested, port) : []));
  return cluster === undefined ? undefined : portLabels(requested, tcp, cluster);
}

/** The labels without this Service's ports, and without targets if it is the last Service. */
export function labelsWithout(balancer: ApiLoadBalancer, uid: string): Labels {
  const { labels } = balancer;
  const marks = portMarksOf(balancer);
  const isLast = marks.every((mark) => mark.uid === uid);
  const own = new Set([
    ...marks.flatMap((mark) => (mark.uid === uid ? labelOf(mark)[0] : [])),
    ...(isLast ? targetLabelsOf(labels).values() : []),
  ]);
  return without(labels, (key, value) => (key === ownerLabel ? value === uid : own.has(key)));
}
