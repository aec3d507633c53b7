// The firewall PUBLIC_ACCESS_FIREWALL_NAME, with the rules that the Go manager gives it. Its name and its tags are the mark.

import {
  collect,
  done,
  type ExposedService,
  errorProblem,
  type FirewallPlan,
  type FirewallProblem,
  type JsonRequest,
  membersOf,
  type NodeFirewall,
} from "#ccm";
import type { DigitalOceanApi } from "./api.ts";
import { type Annotations, type DigitalOceanStep, toObserved, typeOf } from "./balancer.ts";
import type { ApiFirewall, ApiFirewallRule, ApiLoadBalancer } from "./resources.ts";
import { reasons, type Settings } from "./settings.ts";
import { kubeProxyHealthPort } from "./spec.ts";
import { tagOf } from "./tags.ts";

type Service = ExposedService<Annotations>;

/** What the cloud has. */
interface Observed {
  readonly firewalls: readonly ApiFirewall[];
  readonly balancers: readonly ApiLoadBalancer[];
}

const everyone = ["0.0.0.0/0", "::/0"];
const outbound_rules = [
  { protocol: "tcp", ports: "all", destinations: { addresses: everyone } },
  { protocol: "udp", ports: "all", destinations: { addresses: everyone } },
  { protocol: "icmp", destinations: { addresses: everyone } },
];

/** The API shows all ports as "0", and the Go manager compares addresses only. */
function keyOfRule({ protocol, ports = "0", sources, destinations }: ApiFirewallRule): string {
  const { addresses, load_balancer_uids: ids } = sources ?? destinations ?? {};
  const range = ["all", ""].includes(ports) ? "0" : ports;
  return `${protocol} ${range} ${[...(addresses ?? []), ...(ids ?? [])].toSorted().join()}`;
}

const setOf = (rules: readonly ApiFirewallRule[] | null | undefined) => new Set((rules ?? []).map(keyOfRule));

function areEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((entry) => other.has(entry));
}

const lower = (tags: readonly string[] | null) => new Set(tags?.map((tag) => tag.toLowerCase()));

const deciding = ["kubernetes.digitalocean.com/firewall-managed", "type", "network"] as const;

/** Nothing is opened for a paused Service, or for one with an invalid annotation, and its open ports stay. */
const isHeld = ({ isPaused, frozen }: Service): boolean =>
  isPaused || deciding.some((name) => frozen.has(name));

/** Network load balancers pass packets on to the port of the Service. Those of type REGIONAL reach the Nodes over the VPC. */
function rulesOf(service: Service, operator: Settings): readonly ApiFirewallRule[] {
  const { type, ports, settings } = service;
  const isNodePort = type === "NodePort";
  const isNetwork = typeOf(service, operator) === "REGIONAL_NETWORK" && settings.network === "EXTERNAL";
  if (!isHeld(service) && !(isNodePort ? settings[deciding[0]] : isNetwork)) return [];
  return ports.flatMap(({ protocol, port, nodePort }) => {
    const opened = isNodePort ? nodePort : port;
    if (protocol === "SCTP" || opened === undefined) return [];
    return { protocol: protocol.toLowerCase(), ports: String(opened), sources: { addresses: everyone } };
  });
}

/** Where an existing load balancer checks the Nodes. The id is that of the cloud, because users can write the one on the Service. */
function checkOf(service: Service, balancers: readonly ApiLoadBalancer[]): readonly ApiFirewallRule[] {
  const { type, facts, healthCheckNodePort = kubeProxyHealthPort } = service;
  const own = balancers.filter(({ id }) => type === "LoadBalancer" && id === facts["id"]);
  return own.map(({ id }) => ({
    protocol: "tcp",
    ports: String(healthCheckNodePort),
    sources: { load_balancer_uids: [id] },
  }));
}

/** The load balancers of this cluster that pass packets on to the Nodes. */
function networkBalancers(services: readonly Service[], { balancers }: Observed, operator: Settings) {
  const ids = new Set(services.map(({ facts }) => facts["id"]));
  const tag = tagOf(operator);
  return balancers.filter((one) => {
    const { ownership } = toObserved(one, tag);
    const isOwn = ownership === "ours" || (ownership === "unmarked" && ids.has(one.id));
    return isOwn && one.type === "REGIONAL_NETWORK" && one["network"] !== "INTERNAL";
  });
}

/** An open port that a load balancer forwards stays open, whatever its Service says now. */
function isInUse({ protocol, ports, sources = {} }: ApiFirewallRule, balancers: readonly ApiLoadBalancer[]) {
  const checks = balancers.some(({ id }) => sources.load_balancer_uids?.includes(id));
  const forwards = balancers.some(({ forwarding_rules: rules }) =>
    rules?.some((rule) => rule.entry_protocol === protocol && String(rule.entry_port) === ports),
  );
  return checks || (forwards && sources.load_balancer_uids === undefined);
}

const describe = ({ protocol, ports = "all", sources = {} }: ApiFirewallRule): string =>
  `${protocol} ${ports} from ${[...(sources.addresses ?? []), ...(sources.load_balancer_uids ?? [])].join(" ")}`;

/** The service controller reports those of load balancers. */
function invalidAnnotations(services: readonly Service[]): readonly FirewallProblem[] {
  const [name] = deciding;
  const text = `${name} must be true or false. No port of the Nodes is opened for this Service until it is corrected, and open ones stay open.`;
  return services.flatMap(({ owner, type, frozen }) =>
    type === "NodePort" && frozen.has(name)
      ? [{ ...errorProblem("InvalidAnnotation", text), service: owner }]
      : [],
  );
}

function plan(
  services: readonly Service[],
  seen: Observed,
  operator: Settings,
): FirewallPlan<DigitalOceanStep> {
  const { "firewall-name": name = "", "firewall-tags": tags = [] } = operator;
  const existing = seen.firewalls.find((one) => one.name === name);
  const { id } = existing ?? {};
  const found = invalidAnnotations(services);
  if (existing !== undefined && !areEqual(lower(existing.tags), lower(tags))) {
    const text = `The firewall ${name} (${id}) has the tags ${JSON.stringify(existing.tags)}, and PUBLIC_ACCESS_FIREWALL_TAGS is ${JSON.stringify(tags)}, so it may belong to another cluster. It is not changed: no port is opened or closed. If it belongs to this cluster, give it these tags in the cloud; otherwise choose another PUBLIC_ACCESS_FIREWALL_NAME.`;
    const problems = [...found, errorProblem(reasons.FirewallForeign, text)];
    return { steps: [], opening: [], problems, open: 0, opens: [], closes: [] };
  }
  const balancers = networkBalancers(services, seen, operator);
  const observed = new Map((existing?.inbound_rules ?? []).map((rule) => [keyOfRule(rule), rule]));
  // Several Services may open the same port.
  const wanted = new Map<string, ApiFirewallRule>();
  for (const service of services)
    for (const rule of [...rulesOf(service, operator), ...checkOf(service, balancers)]) {
      const key = keyOfRule(rule);
      if (!isHeld(service) || observed.has(key)) wanted.set(key, rule);
    }
  for (const [key, rule] of observed) if (isInUse(rule, balancers)) wanted.set(key, rule);
  const step = (rules: ReadonlyMap<string, ApiFirewallRule>): readonly DigitalOceanStep[] => {
    const isComplete =
      areEqual(new Set(observed.keys()), new Set(rules.keys())) &&
      areEqual(setOf(existing?.outbound_rules), setOf(outbound_rules));
    if (existing !== undefined && isComplete) return [];
    const inbound_rules = [...rules]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, rule]) => rule);
    // Droplets that users have added stay.
    const body = { name, inbound_rules, outbound_rules, tags, ...membersOf(existing ?? {}, ["droplet_ids"]) };
    const [method, path] = id === undefined ? (["POST", ""] as const) : (["PUT", `/${id}`] as const);
    const operation = `${method} /firewalls${id === undefined ? "" : "/{id}"}`;
    const request: JsonRequest = {
      operation,
      method,
      path: `/firewalls${path}`,
      body,
      expects: ["firewall"],
    };
    return [
      { do: `${id === undefined ? "create" : "change"} firewall`, on: name, owner: undefined, request },
    ];
  };
  const missingIn = (all: ReadonlyMap<string, unknown>, rules: ReadonlyMap<string, ApiFirewallRule>) =>
    [...rules].flatMap(([key, rule]) => (all.has(key) ? [] : [describe(rule)]));
  return {
    ...{ steps: step(wanted), opening: step(new Map([...observed, ...wanted])), problems: found },
    ...{ open: observed.size, opens: missingIn(observed, wanted), closes: missingIn(wanted, observed) },
  };
}

/** Undefined without the settings. */
export function digitalOceanFirewall(
  api: DigitalOceanApi,
  operator: Settings,
): NodeFirewall<Annotations, DigitalOceanStep, Observed> | undefined {
  if (operator["firewall-name"] === undefined) return undefined;
  return {
    observe: async (call) => {
      const [firewalls, balancers] = [collect(api.firewalls(call)), collect(api.loadBalancers(call))];
      return { firewalls: await firewalls, balancers: await balancers };
    },
    opens: (service) => rulesOf(service, operator).map(describe),
    plan: (services, seen) => plan(services, seen, operator),
    apply: ({ request }, call) => api.call(request, call).then(() => done()),
  };
}
