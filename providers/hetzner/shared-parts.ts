// Ownership of ports on a shared load balancer, and the ports that a Service can use there. Pure.

import { viewOf } from "#ccm";
import type { Desired } from "./balancer.ts";
import { noPort, ownerLabel, type PortMark, portMarksOf, serviceOf } from "./marks.ts";
import type { ApiLoadBalancer, ApiService } from "./resources.ts";
import { portsOf } from "./services.ts";

export type Request = Pick<Desired, "owner" | "ports" | "sharers"> & {
  readonly settings: Partial<Desired["settings"]>;
};

/** The default range of node ports: a listener that forwards there was left by a Service, for example by a released one. */
const isNodePort = (port: number): boolean => port >= 30_000 && port <= 32_767;

/** A redirect to HTTPS needs port 80 too. */
export const needs = ({ settings }: Request, port: number): readonly number[] =>
  settings.protocol === "https" && settings["http-redirect-http"] === true ? [port, 80] : [port];

/** Ownership on a load balancer, as this Service sees it. */
export function partsOf(
  { owner, ports, settings }: Request,
  balancer: ApiLoadBalancer,
  cluster: string | undefined,
) {
  const marks = portMarksOf(balancer);
  const single = balancer.labels[ownerLabel];
  // A Service that was created again has a different uid.
  const isMine = (mark: PortMark): boolean =>
    mark.uid === owner.uid || (mark.cluster === cluster && serviceOf(mark) === serviceOf(owner));
  const uidOf = (mark: PortMark): string => (isMine(mark) ? owner.uid : mark.uid);
  // The Go manager has put it there for a Service that has no label of a port, perhaps of another cluster.
  const isOther = single !== undefined && marks.every(({ uid }) => uid !== single);
  const byPort = new Map(marks.map((mark) => [mark.port, uidOf(mark)]));
  const isAdoption = marks.length === 0 && single === undefined && settings.shared === undefined;
  const isUnmarkedOwn = ({ listen_port, destination_port: destination }: ApiService): boolean => {
    if (marks.length === 0 && single === owner.uid) return true;
    const wanted = ports.find(({ protocol, port }) => protocol === "TCP" && port === listen_port);
    return (
      wanted !== undefined && (wanted.nodePort === destination || (isAdoption && isNodePort(destination)))
    );
  };
  const view = viewOf({
    mark: owner.uid,
    marks: [...new Set([...marks.map(uidOf), ...(isOther ? [single] : [])])],
    listeners: balancer.services,
    marksOf: (listener: ApiService) => {
      const mark = byPort.get(listener.listen_port) ?? (isUnmarkedOwn(listener) ? owner.uid : undefined);
      return mark === undefined ? [] : [mark];
    },
  });
  const others = marks.filter((mark) => !isMine(mark));
  const strangers = view.taken.flatMap((one) => (one.marks.length === 0 ? one.listener : []));
  const listening = new Set(view.taken.flatMap(({ listener }) => portsOf(listener)));
  const taken = new Map([
    ...strangers.flatMap((listener) =>
      portsOf(listener).map((port) => [port, strangerText(listener)] as const),
    ),
    ...others.map((mark) => [mark.port, `of ${serviceOf(mark)}`] as const),
  ]);
  taken.delete(noPort);
  return {
    view,
    others,
    strangers,
    taken,
    mine: marks.filter(isMine),
    isMember: single === owner.uid || marks.some(isMine),
    /** Listeners that the other Services use, or are about to use. */
    occupied: view.taken.length + [...taken.keys()].filter((port) => !listening.has(port)).length,
  };
}

export type Parts = ReturnType<typeof partsOf>;

const strangerText = ({ destination_port }: ApiService): string =>
  `that no label of a Service covers, and that forwards to port ${destination_port}`;

/** The ports that it gets, beginning with the ports that it already has. `taken`: another Service or program owns them. `excess`: there is no room. */
export function choosePorts(requested: Request, { view, taken, occupied }: Parts, limit: number) {
  const all = requested.ports.flatMap(({ protocol, port }) => (protocol === "TCP" ? port : []));
  const isTaken = (port: number): boolean => needs(requested, port).some((one) => taken.has(one));
  const has = new Set(view.own.map(({ listen_port }) => listen_port));
  const sorted = all.filter((port) => !isTaken(port)).toSorted((a, b) => +has.has(b) - +has.has(a));
  const room = Math.max(0, limit - occupied);
  return { served: sorted.slice(0, room), taken: all.filter(isTaken), excess: sorted.slice(room) };
}

export type ChosenPorts = ReturnType<typeof choosePorts>;
