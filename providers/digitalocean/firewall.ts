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
import { type Annotations, type DigitalOceanStep, typeOf } from "./balancer.ts";
import type { ApiFirewall, ApiFirewallRule } from "./resources.ts";
import { reasons, type Settings } from "./settings.ts";
import { kubeProxyHealthPort } from "./spec.ts";

type Service = ExposedService<Annotations>;

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

/** What a paused Service, or one with an invalid annotation, has opened stays; nothing is opened for it. */
const isHeld = ({ isPaused, frozen }: Service): boolean =>
  isPaused || deciding.some((name) => frozen.has(name));

/** Network load balancers pass packets on to the port of the Service. Those of type REGIONAL reach the Nodes over the VPC. */
function rulesOf(service: Service, operator: Settings): readonly ApiFirewallRule[] {
  const { type, ports, settings, facts, healthCheckNodePort = kubeProxyHealthPort } = service;
  const isNodePort = type === "NodePort";
  const isNetwork = typeOf(service, operator) === "REGIONAL_NETWORK" && settings.network === "EXTERNAL";
  if (!isHeld(service) && !(isNodePort ? settings[deciding[0]] : isNetwork)) return [];
  const open = ports.flatMap(({ protocol, port, nodePort }) => {
    const opened = isNodePort ? nodePort : port;
    if (protocol === "SCTP" || opened === undefined) return [];
    return { protocol: protocol.toLowerCase(), ports: String(opened), sources: { addresses: everyone } };
  });
  // Until the load balancer exists, nothing checks the Nodes.
  if (isNodePort || facts["id"] === undefined) return open;
  const sources = { load_balancer_uids: [facts["id"]] };
  return [...open, { protocol: "tcp", ports: String(healthCheckNodePort), sources }];
}

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
  all: readonly ApiFirewall[],
  operator: Settings,
): FirewallPlan<DigitalOceanStep> {
  const { "firewall-name": name = "", "firewall-tags": tags = [] } = operator;
  const existing = all.find((one) => one.name === name);
  const { id } = existing ?? {};
  const found = invalidAnnotations(services);
  if (existing !== undefined && !areEqual(lower(existing.tags), lower(tags))) {
    const text = `The firewall ${name} (${id}) has the tags ${JSON.stringify(existing.tags)}, and PUBLIC_ACCESS_FIREWALL_TAGS is ${JSON.stringify(tags)}, so it may belong to another cluster. It is not changed: no port is opened or closed. If it belongs to this cluster, give it these tags in the cloud; otherwise choose another PUBLIC_ACCESS_FIREWALL_NAME.`;
    return {
      steps: [],
      problems: [...found, errorProblem(reasons.FirewallForeign, text)],
      open: 0,
      closes: 0,
    };
  }
  const observed = setOf(existing?.inbound_rules);
  // Several Services may open the same port.
  const wanted = new Map<string, ApiFirewallRule>();
  for (const service of services)
    for (const rule of rulesOf(service, operator)) {
      const key = keyOfRule(rule);
      if (!isHeld(service) || observed.has(key)) wanted.set(key, rule);
    }
  const counts = { open: observed.size, closes: [...observed].filter((key) => !wanted.has(key)).length };
  const isComplete =
    areEqual(observed, new Set(wanted.keys())) &&
    areEqual(setOf(existing?.outbound_rules), setOf(outbound_rules));
  if (existing !== undefined && isComplete) return { steps: [], problems: found, ...counts };
  const inbound_rules = [...wanted]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, rule]) => rule);
  // Droplets that users have added stay.
  const body = { name, inbound_rules, outbound_rules, tags, ...membersOf(existing ?? {}, ["droplet_ids"]) };
  const [method, path] = id === undefined ? (["POST", ""] as const) : (["PUT", `/${id}`] as const);
  const operation = `${method} /firewalls${id === undefined ? "" : "/{id}"}`;
  const request: JsonRequest = { operation, method, path: `/firewalls${path}`, body, expects: ["firewall"] };
  const title = id === undefined ? "create firewall" : "change firewall";
  return { steps: [{ do: title, on: name, owner: undefined, request }], problems: found, ...counts };
}

/** Undefined without the settings. */
export function digitalOceanFirewall(
  api: DigitalOceanApi,
  operator: Settings,
): NodeFirewall<Annotations, DigitalOceanStep, readonly ApiFirewall[]> | undefined {
  if (operator["firewall-name"] === undefined) return undefined;
  return {
    observe: (call) => collect(api.firewalls(call)),
    plan: (services, all) => plan(services, all, operator),
    apply: ({ request }, call) => api.call(request, call).then(() => done()),
  };
}
