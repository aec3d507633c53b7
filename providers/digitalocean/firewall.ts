// The firewall PUBLIC_ACCESS_FIREWALL_NAME, with the rules that the Go manager gives it. Its name and its tags mark it.

import {
  collect,
  done,
  type ExposedService,
  errorProblem,
  hasAll,
  membersOf,
  type NodeFirewall,
  type ObservedFirewall,
  requestTo,
} from "#ccm";
import type { DigitalOceanApi } from "./api.ts";
import { type Annotations, type DigitalOceanStep, toObserved, typeOf } from "./balancer.ts";
import type { ApiFirewall, ApiFirewallRule, ApiLoadBalancer } from "./resources.ts";
import { reasons, type Settings } from "./settings.ts";
import { kubeProxyHealthPort } from "./spec.ts";
import { tagOf } from "./tags.ts";

type Service = ExposedService<Annotations>;

interface Observed extends ObservedFirewall<ApiFirewallRule> {
  readonly firewall: ApiFirewall | undefined;
  /** The load balancers that forward packets to the Nodes. */
  readonly balancers: readonly ApiLoadBalancer[];
}

const everyone = ["0.0.0.0/0", "::/0"];
const outbound_rules = [
  { protocol: "tcp", ports: "all", destinations: { addresses: everyone } },
  { protocol: "udp", ports: "all", destinations: { addresses: everyone } },
  { protocol: "icmp", destinations: { addresses: everyone } },
];

/** The API shows all ports as "0", and the Go manager compares only addresses. */
function textOf({ protocol, ports = "0", sources, destinations }: ApiFirewallRule): string {
  const { addresses = [], load_balancer_uids: ids = [] } = sources ?? destinations ?? {};
  const range = ["all", ""].includes(ports) ? "0" : ports;
  return `${protocol} ${range} from ${[...addresses, ...ids].toSorted().join(" ")}`;
}

const textsOf = (rules: readonly ApiFirewallRule[] | null) => (rules ?? []).map(textOf);
const lower = (tags: readonly string[] | null) => (tags ?? []).map((tag) => tag.toLowerCase());

const managed = "kubernetes.digitalocean.com/firewall-managed";

/** Network load balancers pass packets on to the port of the Service. Load balancers of type REGIONAL reach the Nodes over the VPC. */
function rulesOf(service: Service, balancers: readonly ApiLoadBalancer[], operator: Settings) {
  const { type, ports, settings, isHeld, facts, healthCheckNodePort = kubeProxyHealthPort } = service;
  const isNodePort = type === "NodePort";
  const isNetwork = typeOf(service, operator) === "REGIONAL_NETWORK" && settings.network === "EXTERNAL";
  const opens = isHeld || (isNodePort ? settings[managed] : isNetwork);
  const own = ports.flatMap(({ protocol, port, nodePort }): readonly ApiFirewallRule[] => {
    const opened = isNodePort ? nodePort : port;
    if (!opens || protocol === "SCTP" || opened === undefined) return [];
    return [{ protocol: protocol.toLowerCase(), ports: String(opened), sources: { addresses: everyone } }];
  });
  // The id comes from the cloud, because users can change the id on the Service.
  const checking = balancers.filter(({ id }) => !isNodePort && id === facts["id"]);
  const checks = checking.map(({ id }): ApiFirewallRule => {
    const sources = { load_balancer_uids: [id] };
    return { protocol: "tcp", ports: String(healthCheckNodePort), sources };
  });
  return [...own, ...checks];
}

function isNeeded({ protocol, ports, sources = {} }: ApiFirewallRule, balancers: readonly ApiLoadBalancer[]) {
  const { load_balancer_uids: ids } = sources;
  if (ids !== undefined)
    return balancers.some(
      ({ id, health_check: check }) => ids.includes(id) && String(check?.port ?? ports) === ports,
    );
  return balancers.some(({ forwarding_rules: rules }) =>
    rules?.some((rule) => rule.entry_protocol === protocol && String(rule.entry_port) === ports),
  );
}

/** Undefined without the settings of the firewall. */
export function digitalOceanFirewall(
  api: DigitalOceanApi,
  operator: Settings,
): NodeFirewall<Annotations, DigitalOceanStep, ApiFirewallRule, Observed> | undefined {
  const { "firewall-name": name, "firewall-tags": tags = [] } = operator;
  if (name === undefined) return undefined;
  const foreign = ({ id, tags: others }: ApiFirewall) => {
    const text = `The firewall ${name} (${id}) has the tags ${JSON.stringify(others)}, and PUBLIC_ACCESS_FIREWALL_TAGS is ${JSON.stringify(tags)}, so it may belong to another cluster. It is not changed: no port is opened or closed. If it belongs to this cluster, give it these tags in the cloud; otherwise choose another PUBLIC_ACCESS_FIREWALL_NAME.`;
    return errorProblem(reasons.FirewallForeign, text);
  };
  const ownership = (balancer: ApiLoadBalancer) => toObserved(balancer, tagOf(operator)).ownership;
  const passesOn = ({ type, network }: ApiLoadBalancer) =>
    type === "REGIONAL_NETWORK" && network !== "INTERNAL";
  return {
    deciding: [managed, "type", "network"],
    observe: async (call) => {
      const [firewalls, balancers] = await Promise.all([
        collect(api.firewalls(call)),
        collect(api.loadBalancers(call)),
      ]);
      const firewall = firewalls.find((one) => one.name === name);
      const isForeign = firewall !== undefined && !hasAll(lower(firewall.tags), lower(tags));
      return {
        firewall,
        rules: firewall?.inbound_rules ?? [],
        balancers: balancers.filter((one) => passesOn(one) && ownership(one) !== "foreign"),
        ...(isForeign && { problems: [foreign(firewall)] }),
      };
    },
    rulesOf: (service, observed) => rulesOf(service, observed?.balancers ?? [], operator),
    inUse: (services, { rules, balancers }) => {
      const ids = new Set(services.map(({ facts }) => facts["id"]));
      const own = balancers.filter((one) => ownership(one) === "ours" || ids.has(one.id));
      return rules.filter((rule) => isNeeded(rule, own));
    },
    textOf,
    change: (inbound_rules, { firewall }) => {
      const { id, inbound_rules: before = [], outbound_rules: outbound = [] } = firewall ?? {};
      const isComplete =
        hasAll(textsOf(before), textsOf(inbound_rules)) && hasAll(textsOf(outbound), textsOf(outbound_rules));
      if (id !== undefined && isComplete) return undefined;
      // Droplets that users have added stay.
      const added = membersOf(firewall ?? {}, ["droplet_ids"]);
      const body = { name, inbound_rules, outbound_rules, tags, ...added };
      const own = { on: name, owner: undefined };
      return id === undefined
        ? { ...own, do: "create firewall", request: requestTo("POST /firewalls", {}, body) }
        : { ...own, do: "change firewall", request: requestTo("PUT /firewalls/{id}", { id }, body) };
    },
    apply: ({ request }, call) => api.call({ ...request, expects: ["firewall"] }, call).then(() => done()),
  };
}
