// Changes of Services on DigitalOcean, in pairs of specifications.

import { annotations, disown, prefix } from "../../../providers/digitalocean/annotations.ts";
import type { PairCloud } from "../../support/service-pairs/oracle.ts";
import { servicePairs } from "../../support/service-pairs/suite.ts";
import { DigitalOceanWorld, quick } from "./digitalocean-world.ts";

function stateOf(h: DigitalOceanWorld) {
  return h
    .balancers()
    .map(({ id: _, created_at, ip, ipv6, droplet_ids, forwarding_rules, firewall, ...balancer }) => ({
      ...balancer,
      droplet_ids: droplet_ids.toSorted(),
      firewall: { allow: firewall.allow.toSorted(), deny: firewall.deny.toSorted() },
      forwarding_rules: forwarding_rules.map((rule) => JSON.stringify(rule)).toSorted(),
    }));
}

const certificate = "4de7ac8b-495b-4884-9a69-0000002dc6c3";

const cloud: PairCloud<ReturnType<typeof stateOf>> = {
  prefix,
  fields: annotations,
  values: {
    name: ["edge", "other"],
    ip: ["198.51.100.7"],
    "subnet-uuid": ["5e1f6f5c-0000-4000-8000-000000000001"],
    "size-unit": ["1", "2", "5"],
    algorithm: ["round_robin", "least_connections"],
    "http-ports": ["80", "80,1080", "53"],
    "tls-ports": ["443", "80,443"],
    "http2-ports": ["443", "1080"],
    "http3-port": ["443"],
    "certificate-id": [certificate, "missing"],
    "certificate-name": ["first", "second"],
    "sticky-sessions-cookie-name": ["COOKIE", "OTHER"],
    "sticky-sessions-cookie-ttl": ["60", "300"],
    "override-health-check": ["true"],
    "healthcheck-port": ["80", "443"],
    "healthcheck-path": ["/ready", "/healthz"],
    "allow-rules": ["ip:192.0.2.1", "cidr:198.51.100.0/24,ip:192.0.2.1"],
    "deny-rules": ["ip:192.0.2.2", "cidr:203.0.113.0/24"],
    hostname: ["lb.example.com", "www.example.com"],
  },
  needs: {
    "sticky-sessions-type": ["sticky-sessions-cookie-name", "sticky-sessions-cookie-ttl", "http-ports"],
    "tls-ports": ["certificate-name"],
    "http2-ports": ["certificate-name"],
    "http3-port": ["tls-ports"],
    "redirect-http-to-https": ["tls-ports", "http-ports"],
    "http-idle-timeout-seconds": ["http-ports"],
    "enable-backend-keepalive": ["http-ports"],
    "http-ports": ["type"],
  },
  left: { [disown]: "its load balancer is no longer the one of the Service" },
  kept: [],
  open: () => {
    const h = new DigitalOceanWorld({ nodes: 2, config: { "cluster-id": "prod", region: "nyc3" }, ...quick });
    for (const name of ["first", "second"]) h.cloud.account.certificates.add(name);
    return {
      world: h.world,
      start: () => h.start("service"),
      state: () => {
        h.cloud.settle();
        return stateOf(h);
      },
      aliases: () =>
        h.balancers().flatMap(({ id, ip, ipv6 }) => [
          [id, "ID"],
          [ip, "ipv4"],
          [ipv6, "ipv6"],
        ]),
    };
  },
};

servicePairs(cloud, "./test/providers/digitalocean/service-pairs.test.ts");
