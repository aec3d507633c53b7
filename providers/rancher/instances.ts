// The hosts of Rancher as instances: one listing with their addresses, and lookups by id.

import {
  applicable,
  type Call,
  collect,
  errorProblem,
  type Instance,
  type InstanceAddress,
  type InstanceSource,
  type InstanceState,
  type ProviderProblem,
  parseIp,
  providerID,
  warningProblem,
} from "#ccm";
import type { RancherApi } from "./api.ts";
import type { ApiHost } from "./resources.ts";
import { reasons, type Settings } from "./settings.ts";

/** The server still has an entry, but the host no longer exists. */
const goneStates = new Set(["removed", "purging", "purged"]);

/** With `include`, pages count addresses: a host with several may be on two pages. */
function mergeHosts(rows: readonly ApiHost[]): readonly ApiHost[] {
  const byID = new Map<string, ApiHost>();
  for (const row of rows) {
    if (row.removed || goneStates.has(row.state ?? "")) continue;
    const known = byID.get(row.id);
    const ipAddresses = known?.ipAddresses && row.ipAddresses && [...known.ipAddresses, ...row.ipAddresses];
    byID.set(row.id, ipAddresses ? { ...row, ipAddresses } : row);
  }
  return [...byID.values()];
}

/** The names of each host, by id: an exact name takes precedence over the first label of another host's name. */
function namesOfHosts(
  hosts: readonly ApiHost[],
  domains: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const exact = new Set(hosts.map(({ hostname }) => hostname?.toLowerCase()));
  return new Map(
    hosts.map((host) => {
      const names = ownNames(host);
      const others = names.flatMap((name) => aliasesOf(name, domains)).filter((alias) => !exact.has(alias));
      return [host.id, [...names, ...others]];
    }),
  );
}

const ownNames = ({ hostname }: ApiHost): readonly string[] => (hostname ? [hostname.toLowerCase()] : []);

/** A full name also matches by its first label, and a short name with each of the domains. */
function aliasesOf(name: string, domains: readonly string[]): readonly string[] {
  const [label = ""] = name.split(".");
  if (label !== name) return [label];
  return domains.map((domain) => `${name}.${domain.toLowerCase().replace(/^\.+/, "")}`);
}

const inactiveStates = new Set(["inactive", "deactivating", "updating-inactive"]);

function stateOf({ state }: ApiHost, inactiveIsShutdown: boolean): InstanceState {
  if (state === "removing") return "terminating";
  return inactiveIsShutdown && inactiveStates.has(state ?? "") ? "suspended" : "running";
}

/** Without a response to `include`, only the address of the agent is known. */
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
  // Without addresses, the Node keeps its current addresses.
  return ips.length === 0 || !host.hostname ? ips : [...ips, { kind: "Hostname", value: host.hostname }];
}

function problemsOf(host: ApiHost, title: string): readonly ProviderProblem[] {
  const { state, agentState } = host;
  const isLost = state === "disconnected" || (state === "active" && agentState === "disconnected");
  const noAddress = `Rancher has no IP address for host ${title} yet. A joining Node waits; other Nodes keep their addresses. If it lasts, check the Rancher agent of the host.`;
  const lost = `Rancher has lost the connection to the agent of host ${title}. The Node stays. Start the agent, or remove the host from Rancher if it is gone.`;
  return applicable(
    ipsOf(host).length === 0 && errorProblem("IncompleteInstance", noAddress),
    isLost && warningProblem(reasons.HostAgentDisconnected, lost),
  );
}

/** Whether the uuid or the API id identifies a host in provider ids. */
type KeyField = "uuid" | "id";

function toInstance(
  host: ApiHost,
  field: KeyField,
  settings: Settings,
  names: readonly string[] = ownNames(host),
): Instance {
  const [hostname] = ownNames(host);
  const { "node-domains": domains = [] } = settings;
  const title = host.hostname ?? host.name ?? host.id;
  const label = (name: string | undefined) => (name === undefined ? undefined : host.labels?.[name]);
  // Matches a Node with any domain, unless the domains are configured. A name that two hosts have is ambiguous in both cases.
  const hasAnyDomain = hostname?.includes(".") === false && domains.length === 0;
  return {
    key: host[field].toLowerCase(),
    id: providerID(`rancher://${host[field]}`),
    // The source by API id only recognizes ids. It must not match a name a second time.
    names: field === "uuid" ? names : [],
    ...(field === "uuid" && hasAnyDomain && { shortName: hostname }),
    title,
    state: stateOf(host, settings["inactive-is-shutdown"]),
    addresses: addressesOf(host, settings.addresses),
    type: label(settings["instance-type-label"]) ?? "rancher",
    region: label(settings["region-label"]) ?? "Region1",
    zone: label(settings["zone-label"]) ?? "FailureDomain1",
    cloudLabels: host.labels ?? {},
    problems: problemsOf(host, title),
  };
}

/** A text that does not begin like a uuid cannot identify a host, so the absence of such a host proves nothing about the Node. */
const patterns = { uuid: /^rancher:\/\/\/?([0-9a-f]{8}-[^/]+)$/i, id: /^rancher:\/\/\/?(1h\d+)$/i };

/** Lists the hosts with their addresses. */
export const hostsIn = async (api: RancherApi, call: Call, query = {}): Promise<readonly ApiHost[]> =>
  mergeHosts(await collect(api.list<ApiHost>("host", call, { include: "ipAddresses", ...query })));

export function hostSource(api: RancherApi, field: KeyField, settings: Settings): InstanceSource {
  const lookUp = async (key: string, call: Call) => {
    if (field === "uuid") return hostsIn(api, call, { uuid: key });
    const found = await api.find<ApiHost>("host", key, call, { include: "ipAddresses" });
    // A removed host can still be read.
    return mergeHosts(found === undefined ? [] : [found]);
  };
  return {
    name: field === "uuid" ? "hosts" : "hosts by API id",
    keyOf: (id) => patterns[field].exec(id)?.[1]?.toLowerCase(),
    // The agent of a host reports the data, with credentials that are on the host.
    selfReported: true,
    list: async function* (call) {
      const all = await hostsIn(api, call);
      const names = namesOfHosts(all, settings["node-domains"] ?? []);
      yield all.map((host) => toInstance(host, field, settings, names.get(host.id)));
    },
    lookups: {
      id: {
        limit: 1,
        find: async ([key = ""], call) => {
          const found = (await lookUp(key, call)).filter((host) => host[field].toLowerCase() === key);
          // Other hosts decide about further names, so this lookup returns none.
          return new Map([[key, found.map((host) => toInstance(host, field, settings))]]);
        },
      },
    },
  };
}
