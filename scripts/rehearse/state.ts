// The state that two managers must leave identical: Services, Nodes, load balancers and routes, as lines that can be compared.
// Pure.

import type { Node, Service } from "../../src/kube/objects.ts";
import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";

export type State = Readonly<Record<string, unknown>>;

/** `cloud` has the objects that managers change in the cloud. */
export function stateOf(server: ApiServer, cloud: State): State {
  const services = server.store.list("services") as unknown as readonly Service[];
  const nodes = server.store.list("nodes") as unknown as readonly Node[];
  const entries = [
    ...services.map(({ metadata, status }) => [
      `Service ${metadata.name}`,
      {
        annotations: metadata.annotations,
        labels: metadata.labels,
        finalizers: metadata.finalizers,
        loadBalancer: status.loadBalancer,
      },
    ]),
    ...nodes.map(({ metadata, spec, status }) => [
      `Node ${metadata.name}`,
      {
        labels: metadata.labels,
        providerID: spec.providerID,
        // The taints without the time at which they were added.
        taints: (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`),
        addresses: status.addresses,
        network: status.conditions?.find(({ type }) => type === "NetworkUnavailable")?.status,
      },
    ]),
  ];
  return structuredClone({ ...Object.fromEntries(entries), ...cloud });
}

/** Objects by name with the members that differ: "Service web: loadBalancer was … and is …". */
export function differences(before: State, after: State): readonly string[] {
  const all = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return all.flatMap((name) => {
    const [was, is] = [before[name], after[name]] as readonly (
      | Readonly<Record<string, unknown>>
      | undefined
    )[];
    if (was === undefined) return [`${name} is new`];
    if (is === undefined) return [`${name} is gone`];
    const members = [...new Set([...Object.keys(was), ...Object.keys(is)])];
    return members
      .filter((member) => !Bun.deepEquals(was[member], is[member]))
      .map(
        (member) =>
          `${name}: ${member} was ${JSON.stringify(was[member])} and is ${JSON.stringify(is[member])}`,
      );
  });
}
