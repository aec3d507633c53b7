// The hosts of Rancher as instances: one listing with their addresses, and lookups by id.

import {
  type Call,
  type Instance,
  type InstanceAddress,
  type InstanceSource,
  type InstanceState,
  type Problem,
  parseIp,
  providerID,
} from "#ccm";
import { collect, type RancherApi } from "./api/client.ts";
import type { ApiHost } from "./api/resources.ts";
import type { Settings } from "./check-settings.ts";
import { namesOfHosts, shortNameOf } from "./host-names.ts";
import { nodeLabelsOf } from "./labels.ts";
import { mergeHosts } from "./merge-hosts.ts";
import { reasons } from "./reasons.ts";

const inactiveStates = new Set(["inactive", "deactivating", "updating-inactive"]);

function stateOf({ state }: ApiHost, inactiveIsShutdown: boolean): InstanceState {
  if (state === "removing") return "terminating";
  return inactiveIsShutdown && inactiveStates.has(state ?? "") ? "stopped" : "running";
}

/** Without an answer to `include`, the address of the agent is the only one that is known. */
function ipsOf({ ipAddresses, agentIpAddress }: ApiHost): readonly string[] {
  const listed = ipAddresses?.flatMap(({ address, removed }) => (removed ? [] : (address ?? [])));
  const texts = listed ?? (agentIpAddress ? [agentIpAddress] : []);
  return [...new Set(texts.flatMap((text) => parseIp(text) ?? []))];
}

function addressesOf(host: ApiHost, kinds: Settings["addresses"]): readonly InstanceAddress[] {
  const ips = ipsOf(host).flatMap((value): readonly InstanceAddress[] => [
    ...(kinds === "internal" ? [] : [{ kind: "ExternalIP", value } as const]),
    ...(kinds === "external" ? [] : [{ kind: "InternalIP", value } as const]),
  ]);
  // Without addresses, the Node keeps those that it has.
  return ips.length === 0 || !host.hostname ? ips : [...ips, { kind: "Hostname", value: host.hostname }];
}

function problemsOf(host: ApiHost, title: string): readonly Problem[] {
  const problems: Problem[] = [];
  if (ipsOf(host).length === 0) {
    const text = `Rancher has no IP address for host ${title} yet. A joining Node waits; other Nodes keep their addresses. If it lasts, check the Rancher agent of the host.`;
    problems.push({ severity: "error", reason: "IncompleteInstance", text });
  }
  if (host.state === "disconnected" || (host.state === "active" && host.agentState === "disconnected")) {
    const text = `Rancher has lost the connection to the agent of host ${title}. The Node stays. Start the agent, or remove the host from Rancher if it is gone.`;
    problems.push({ severity: "warning", reason: reasons.HostAgentDisconnected, text });
  }
  return problems;
}

function labelProblems(invalid: readonly string[], title: string): readonly Problem[] {
  if (invalid.length === 0) return [];
  const text = `Kubernetes does not accept these labels of host ${title}: ${invalid.join(", ")}. The Node does not get them. A value has at most 63 letters, digits, dashes, dots and underscores. Correct them in Rancher, or remove them from node-labels.`;
  return [{ severity: "warning", reason: reasons.InvalidHostLabel, text }];
}

/** Whether the uuid or the API id identifies a host in provider ids. */
type KeyField = "uuid" | "id";

function toInstance(
  host: ApiHost,
  field: KeyField,
  settings: Settings,
  names: readonly string[] = [],
): Instance {
  const key = host[field].toLowerCase();
  const shortName = field === "uuid" ? shortNameOf(host.hostname, settings["node-domains"] ?? []) : undefined;
  const title = host.hostname ?? host.name ?? host.id;
  const { labels, invalid } = nodeLabelsOf(host.labels ?? {}, settings["node-labels"]);
  const label = (name: string | undefined) => (name === undefined ? undefined : host.labels?.[name]);
  return {
    key,
    id: providerID(`rancher://${host[field]}`),
    // The source by API id only recognizes ids. It must not be a second match for a name.
    names: field === "uuid" ? names : [],
    ...(shortName !== undefined && { shortName }),
    title,
    state: stateOf(host, settings["inactive-is-shutdown"]),
    addresses: addressesOf(host, settings.addresses),
    ...(Object.keys(labels).length > 0 && { labels }),
    type: label(settings["instance-type-label"]) ?? "rancher",
    region: label(settings["region-label"]) ?? "Region1",
    zone: label(settings["zone-label"]) ?? "FailureDomain1",
    problems: [...problemsOf(host, title), ...labelProblems(invalid, title)],
  };
}

/** What does not begin as a uuid is none of a host: the absence of such a host proves nothing about the Node. */
const patterns = { uuid: /^rancher:\/\/\/?([0-9a-f]{8}-[^/]+)$/i, id: /^rancher:\/\/\/?(1h\d+)$/i };

const keyOf = (id: string, field: KeyField): string | undefined =>
  patterns[field].exec(id)?.[1]?.toLowerCase();

export function hostSource(api: RancherApi, field: KeyField, settings: Settings): InstanceSource {
  const hosts = async (call: Call, query = {}) =>
    mergeHosts(await collect(api.list<ApiHost>("host", call, { include: "ipAddresses", ...query })));
  const lookUp = async (key: string, call: Call) => {
    if (field === "uuid") return hosts(call, { uuid: key });
    const found = await api.find<ApiHost>("host", key, call, { include: "ipAddresses" });
    // A host that is removed can still be read.
    return mergeHosts(found === undefined || found.removed ? [] : [found]);
  };
  return {
    name: field === "uuid" ? "hosts" : "hosts by API id",
    keyOf: (id) => keyOf(id, field),
    list: async function* (call) {
      const all = await hosts(call);
      const names = namesOfHosts(all, settings["node-domains"] ?? []);
      yield all.map((host) => toInstance(host, field, settings, names.get(host.id)));
    },
    lookups: {
      id: {
        limit: 1,
        find: async ([key = ""], call) => {
          const found = (await lookUp(key, call)).filter((host) => host[field].toLowerCase() === key);
          // Other hosts decide about further names, so there are none here.
          const instances = found.map((host) =>
            toInstance(host, field, settings, host.hostname ? [host.hostname.toLowerCase()] : []),
          );
          return new Map([[key, instances]]);
        },
      },
    },
  };
}
