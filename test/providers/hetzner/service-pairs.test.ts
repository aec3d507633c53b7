// Changes of Services on Hetzner, in pairs of specifications.

import { annotations } from "../../../providers/hetzner/annotations.ts";
import type { Service } from "../../../providers/hetzner/simulator/index.ts";
import type { Kept, PairCloud } from "../../support/service-pairs/oracle.ts";
import type { Outcome } from "../../support/service-pairs/play.ts";
import { servicePairs } from "../../support/service-pairs/suite.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const prefix = "load-balancer.hetzner.cloud/";

function stateOf({ cloud: { project } }: HetznerWorld) {
  const certificates = project.certificates.list();
  const named = (ids: readonly number[]) =>
    ids.map((id) => certificates.find((one) => one.id === id)?.name ?? "unknown");
  const ofService = ({ http, ...service }: Service) => ({
    ...service,
    ...(http && { http: { ...http, certificates: named(http.certificates) } }),
  });
  return {
    balancers: project.balancers
      .list()
      .map(({ id: _, created, ipv4, ipv6, pointers, services, targets, privateNets, ...balancer }) => ({
        ...balancer,
        pointers: { ipv4: pointers[ipv4 ?? ""] ?? null, ipv6: pointers[ipv6 ?? ""] ?? null },
        services: Object.fromEntries(services.map((service) => [service.listen_port, ofService(service)])),
        targets: targets.map((target) => JSON.stringify(target)).toSorted(),
        private: privateNets.map(({ ip }) => ip),
      })),
    certificates: certificates
      .filter(({ type }) => type === "managed")
      .map(({ id: _, created, issued, ...certificate }) => certificate),
  };
}

type State = ReturnType<typeof stateOf>;
type Data = Record<string, unknown>;

/** The fields that each annotation sets on the load balancer and on each port. */
const ofBalancer = {
  name: ["name"],
  type: ["type"],
  "algorithm-type": ["algorithm"],
  "ipv4-rdns": ["pointers", "ipv4"],
  "ipv6-rdns": ["pointers", "ipv6"],
} as const;
const ofPort = {
  "uses-proxyprotocol": ["proxyprotocol"],
  "http-cookie-name": ["http", "cookie_name"],
  "http-cookie-lifetime": ["http", "cookie_lifetime"],
  "http-redirect-http": ["http", "redirect_http"],
  "http-sticky-sessions": ["http", "sticky_sessions"],
  "http-timeout-idle": ["http", "timeout_idle"],
  "http-certificates": ["http", "certificates"],
  "health-check-interval": ["health_check", "interval"],
  "health-check-timeout": ["health_check", "timeout"],
  "health-check-retries": ["health_check", "retries"],
  "health-check-http-domain": ["health_check", "http", "domain"],
  "health-check-http-path": ["health_check", "http", "path"],
  "health-check-http-validate-certificate": ["health_check", "http", "tls"],
  "http-status-codes": ["health_check", "http", "status_codes"],
} as const;

function put(fresh: Data, before: Data, [name, ...rest]: readonly string[]): void {
  if (name === undefined || before[name] === undefined || !(name in fresh)) return;
  if (rest.length === 0) fresh[name] = before[name];
  else put(fresh[name] as Data, before[name] as Data, rest);
}

const keepRemoved: Kept<State>["keep"] = (fresh, before, { annotations: own }) => {
  const kept = structuredClone(fresh);
  const [balancer, old] = [kept.cloud.balancers[0], before.cloud.balancers[0]];
  if (balancer === undefined || old === undefined) return fresh;
  balancer.location = old.location;
  const isManaged = own[`${prefix}certificate-type`] === "managed";
  for (const [name, path] of Object.entries(ofBalancer))
    if (!(prefix + name in own)) put(balancer, old, path);
  if (!(`${prefix}private-ipv4` in own) && old.private.length > 0) balancer.private = old.private;
  for (const [port, service] of Object.entries(balancer.services))
    for (const [name, path] of Object.entries(ofPort))
      if (!(prefix + name in own || (name === "http-certificates" && isManaged)))
        put(service as never, (old.services[port] ?? {}) as never, path);
  return {
    ...kept,
    service: { ...kept.service, ingress: ingressOf(kept, fresh.cloud.balancers[0]?.private ?? []) },
  };
};

/** The addresses in the status, for the kept addresses and ports. */
function ingressOf(
  {
    cloud: {
      balancers: [balancer],
    },
    service: { ingress },
  }: Outcome<State>,
  formerly: readonly string[],
) {
  if (balancer === undefined) return ingress;
  const ipMode = Object.values(balancer.services).some(({ proxyprotocol }) => proxyprotocol)
    ? "Proxy"
    : "VIP";
  return ingress.map(({ ip = "", ...one }) => {
    if (ip === "") return one;
    return { ip: formerly.includes(ip) ? (balancer.private[0] ?? ip) : ip, ipMode };
  });
}

/** The certificate stays, and is the only one that Fairlead uses for the Service. */
const keepCertificate: Kept<State>["keep"] = (fresh, before) => {
  const { certificates } = before.cloud;
  const [had, wanted] = [certificates[0]?.name, fresh.cloud.certificates[0]?.name];
  if (had === undefined) return fresh;
  const { balancers } = structuredClone(fresh.cloud);
  for (const service of balancers.flatMap((one) => Object.values(one.services)))
    if (service.http?.certificates.includes(wanted ?? "") === true) service.http.certificates = [had];
  return { ...fresh, cloud: { balancers, certificates } };
};

const requested = ["10.0.0.200", "10.0.0.201"];

const cloud: PairCloud<State> = {
  prefix,
  fields: annotations,
  values: {
    name: ["edge", "other"],
    "node-selector": ["pool=web", "pool!=web"],
    type: ["lb11", "lb21", "lb31"],
    location: ["fsn1", "nbg1"],
    "network-zone": ["eu-central", "us-east"],
    hostname: ["lb.example.com", "www.example.com"],
    "private-ipv4": requested,
    "private-subnet-ip-range": ["10.0.0.0/16", "10.9.0.0/24"],
    "ipv4-rdns": ["a.example.com", "b.example.com"],
    "ipv6-rdns": ["a.example.com", "b.example.com"],
    "http-timeout-idle": ["40s", "60", "300s"],
    ipv4: ["198.51.100.1"],
    ipv6: ["2001:db8::1"],
    id: ["7"],
    "http-cookie-name": ["COOKIE", "OTHER"],
    "http-cookie-lifetime": ["30s", "3600"],
    "http-certificates": ["first", "second", "first,second", "missing"],
    "http-managed-certificate-name": ["managed", "another"],
    "http-managed-certificate-domains": ["example.com", "example.com,www.example.com"],
    "health-check-interval": ["5s", "20s"],
    "health-check-timeout": ["3s", "4s"],
    "health-check-retries": ["1", "5"],
    "health-check-port": ["30443", "30080"],
    "health-check-http-domain": ["example.com", "www.example.com"],
    "health-check-http-path": ["/healthz", "/ready"],
    "http-status-codes": ["2??", "200,204"],
  },
  needs: {
    "certificate-type": ["http-managed-certificate-domains", "protocol"],
    "disable-public-network": ["use-private-ip"],
    "health-check-http-path": ["health-check-protocol"],
    "http-certificates": ["protocol"],
  },
  left: { shared: "the other Services are part of its meaning" },
  sticky: ["disable-public-network"],
  atCreation: ["location", "network-zone"],
  kept: [
    { name: "the value of an annotation that is removed", keep: keepRemoved },
    { name: "a managed certificate", keep: keepCertificate },
  ],
  open: () => {
    const h = new HetznerWorld({ nodes: 2, hasNetwork: true });
    for (const name of ["first", "second"]) h.cloud.project.certificates.add(name);
    return {
      world: h.world,
      start: () => h.start("service"),
      state: () => stateOf(h),
      aliases: () =>
        h.cloud.project.balancers
          .list()
          .flatMap(({ ipv4, ipv6, privateNets }) => [
            [ipv4 ?? "", "ipv4"],
            [ipv6 ?? "", "ipv6"],
            ...privateNets.flatMap(({ ip }) => (requested.includes(ip) ? [] : [[ip, "private"] as const])),
          ]),
    };
  },
};

servicePairs(cloud, "./test/providers/hetzner/service-pairs.test.ts");
