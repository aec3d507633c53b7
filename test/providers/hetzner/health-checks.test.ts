// The health checks of ports while an annotation about them is invalid.

import { expect, test } from "bun:test";
import { HetznerWorld } from "./hetzner-world.ts";

const prefix = "load-balancer.hetzner.cloud/";
const withPrefix = (annotations: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value]));

/** The annotations that can be invalid. */
const names = ["protocol", "port", "interval", "timeout", "retries", "http-validate-certificate"].map(
  (name) => `health-check-${name}`,
);

const portsFrom = (nodePort: number) =>
  [80, 81].map((port, index) => ({ name: `p${port}`, port, protocol: "TCP", nodePort: nodePort + index }));

test.each<[Readonly<Record<string, string>>, Readonly<Record<string, string>>?]>([
  [{}],
  [{ protocol: "http" }],
  [{ protocol: "http", "health-check-protocol": "tcp" }],
  [{ protocol: "http", "health-check-protocol": "tcp", "health-check-interval": "5s" }],
  [{ protocol: "http", "health-check-interval": "5s" }],
  [{ protocol: "http", "health-check-protocol": "https", "health-check-http-path": "/live" }],
  [{ "health-check-port": "8080", "health-check-retries": "5" }],
  [{ "health-check-protocol": "http", "http-status-codes": "2??,301" }],
  [{ "health-check-interval": "5s" }, { "load-balancers-health-check-interval": "20s" }],
  [
    { protocol: "http", "health-check-protocol": "tcp", "health-check-interval": "5s" },
    { "load-balancers-health-check-interval": "20s" },
  ],
])(
  "health checks with %j stay unchanged while any annotation about health checks is invalid [F47]",
  async (own, config = {}) => {
    const h = new HetznerWorld({ nodes: 1, config });
    await h.start("service");
    for (const [index, name] of names.entries()) {
      const ports = portsFrom(30_000 + 2 * index);
      h.world.create(name, { annotations: withPrefix(own), spec: { ports: ports as never } });
    }
    await h.world.pass(60);
    const checks = () =>
      h.cloud.project.balancers
        .list()
        .flatMap(({ services }) => services.map(({ health_check }) => JSON.stringify(health_check)));
    const before = checks();
    expect(before).toHaveLength(2 * names.length);
    await h.world.stop();
    for (const name of names) h.world.annotate(name, withPrefix({ [name]: "no" }));
    h.forget();
    await h.start("service");
    await h.world.pass(120);
    expect(h.requests.filter((one) => one.includes("update_service"))).toEqual([]);
    expect(checks()).toEqual(before);
    expect(h.world.events(names[0] ?? "").join()).toContain("health-check-protocol must be one of");
  },
);
