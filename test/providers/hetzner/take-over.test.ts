// Taking over load balancers of the Go manager: nothing is changed at first, and each annotation later changes what it changes
// with the Go manager.

import { expect, test } from "bun:test";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { ownerLabel } from "../../../providers/hetzner/marks.ts";
import type { Balancer } from "../../../providers/hetzner/simulator/index.ts";
import { lbFinalizer } from "../../support/service-world.ts";
import { type AnnotationCase, annotationCases, checkDefaults, httpDefaults } from "./annotations-table.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const prefix = "load-balancer.hetzner.cloud/";
const prefixed = (annotations: AnnotationCase["annotations"]) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value]));

/** The addresses in the form in which the Go manager publishes them. */
function ingressOf(
  { ipv4, ipv6, privateNets, isPublic }: Balancer,
  { ingress, annotations }: AnnotationCase,
) {
  if (ingress === "hostname") return [{ hostname: annotations["hostname"] }];
  const ipMode = ingress === "proxy" ? "Proxy" : "VIP";
  const ips = [
    ...(isPublic ? [ipv4, ...(ingress === "no IPv6" ? [] : [ipv6])] : []),
    ...(ingress === "only public" ? [] : privateNets.map(({ ip }) => ip)),
  ];
  return ips.map((ip) => ({ ip, ipMode }));
}

/** Adds a Service with its load balancer, in the state that the Go manager leaves. */
function addManaged(h: HetznerWorld, one: AnnotationCase, index: number): string {
  const name = `s${index}`;
  const nodePort = 30_000 + index;
  const { networks, balancers, servers } = h.cloud.project;
  const draft = {
    annotations: prefixed(one.annotations),
    finalizers: [lbFinalizer],
    spec: { ports: [{ port: 80, protocol: "TCP", nodePort }] },
  };
  const { uid } = h.world.create(name, draft).metadata;
  const defaultName = `a${uid.replaceAll("-", "")}`.slice(0, 32);
  const { pointers, ...rest } = one.balancer ?? {};
  const added = balancers.add(rest.name ?? defaultName, {
    labels: { [ownerLabel]: uid },
    ...rest,
    targets: servers
      .list()
      .map(({ id }) => ({ type: "server", server: id, usesPrivateIp: one.targetsUsePrivateIP === true })),
    services: [
      {
        protocol: "tcp",
        listen_port: 80,
        destination_port: nodePort,
        proxyprotocol: false,
        ...one.service,
        health_check: { ...checkDefaults, port: nodePort, ...one.healthCheck },
        ...(one.http && { http: { ...httpDefaults, ...one.http } }),
      },
    ],
  });
  const ip = networks.reserve(h.networkID, { type: "load_balancer", id: added.id }, { zone: "eu-central" });
  const byFamily = { v4: added.ipv4, v6: added.ipv6 };
  const names = Object.entries(pointers ?? {}).map(([family, text]) => [
    byFamily[family as "v4" | "v6"],
    text,
  ]);
  const balancer = balancers.change(added.id, {
    privateNets: [{ network: h.networkID, ip }],
    pointers: Object.fromEntries(names),
  });
  h.world.edit(
    name,
    (service) => ({ ...service, status: { loadBalancer: { ingress: ingressOf(balancer, one) as never } } }),
    "status",
  );
  return name;
}

test("takes over Services of the Go manager without a change in the cloud or of an object [F50 F33 F34 F39]", async () => {
  const h = new HetznerWorld({ nodes: 2, hasNetwork: true });
  for (const [index, one] of annotationCases.entries()) addManaged(h, one, index);
  await h.start("service");
  await h.world.pass(600);
  expect(h.requests.filter((operation) => !operation.startsWith("GET"))).toEqual([]);
  expect(h.world.written.filter((what) => !what.includes("/events"))).toEqual([]);
});

test.each(annotationCases.map((one) => [one.name, one] as const))(
  "applies the annotation with the same requests as the Go manager: %s [F47]",
  async (_, one) => {
    const h = new HetznerWorld({ nodes: 2, hasNetwork: true });
    const [none] = annotationCases;
    if (none === undefined) throw new Error("Expected a case.");
    const location = one.balancer?.location;
    const name = addManaged(h, location === undefined ? none : { ...none, balancer: { location } }, 0);
    await h.start("service");
    await h.world.pass(30);
    h.forget();
    h.world.annotate(name, prefixed(one.annotations));
    await h.world.pass(120);
    const changes = () => h.requests.filter((operation) => !operation.startsWith("GET"));
    expect(changes()).toEqual([...one.changes]);
    const [balancer] = h.cloud.project.balancers.list();
    if (balancer === undefined) throw new Error("Expected a load balancer.");
    expect(h.world.get(name).status.loadBalancer?.ingress as unknown).toEqual(ingressOf(balancer, one));
    h.forget();
    await h.world.stop();
    await h.start("service");
    await h.world.pass(120);
    expect(changes()).toEqual([]);
  },
);

/** The Go manager's requests when an annotation is removed. Without a value, the cloud keeps its current one. */
const removals: readonly (readonly [name: string, changes: readonly string[]])[] = [
  ["type", []],
  ["algorithm", []],
  ["name", []],
  ["PROXY protocol", []],
  ["cookie name", ["POST /load_balancers/{id}/actions/update_service"]],
  ["health check port", ["POST /load_balancers/{id}/actions/update_service"]],
  ["health check interval", []],
  ["HTTP health check", ["POST /load_balancers/{id}/actions/update_service"]],
  ["reverse DNS of IPv4", []],
];

test.each(removals)(
  "sends the Go manager's requests when an annotation is removed: %s [F47]",
  async (name, changes) => {
    const one = annotationCases.find((each) => each.name === name);
    if (one === undefined) throw new Error(`There is no case ${name}.`);
    const h = new HetznerWorld({ nodes: 2, hasNetwork: true });
    const service = addManaged(h, one, 0);
    await h.start("service");
    await h.world.pass(30);
    h.forget();
    h.world.annotate(
      service,
      Object.fromEntries(Object.keys(prefixed(one.annotations)).map((key) => [key, undefined])),
    );
    await h.world.pass(120);
    expect(h.requests.filter((operation) => !operation.startsWith("GET"))).toEqual([...changes]);
  },
);

test("takes over a Service with empty annotations, which the Go manager accepts, without a write [F50]", async () => {
  const config = {
    "load-balancers-type": "lb21",
    "load-balancers-health-check-interval": "0s",
    "load-balancers-health-check-retries": "-1",
  };
  const h = new HetznerWorld({ nodes: 2, hasNetwork: true, config });
  const names = [
    ...["type", "certificate-type", "http-managed-certificate-name", "ipv4-rdns", "ipv6-rdns"],
    ...["location", "network-zone", "node-selector", "private-subnet-ip-range"],
  ];
  const annotations = Object.fromEntries(names.map((name) => [name, ""]));
  const name = addManaged(h, { name: "empty", annotations, changes: [] }, 0);
  await h.start("service");
  await h.world.pass(600);
  expect(h.requests.filter((operation) => !operation.startsWith("GET"))).toEqual([]);
  expect(h.world.written.filter((what) => !what.includes("/events"))).toEqual([]);
  expect(h.world.get(name).status.conditions ?? []).toEqual([]);
});

test("creates a load balancer although every annotation is empty, except annotations whose empty value cancels a default", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  const fields = Object.entries(hetzner.annotations?.fields ?? {});
  const all = fields.flatMap(([name, { mayBeEmpty }]) => (mayBeEmpty === true ? [] : name));
  expect(all.length).toBeGreaterThan(30);
  await h.start("service");
  h.world.create("web", {
    annotations: prefixed(Object.fromEntries(all.map((name) => [name, " "]))),
    spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] },
  });
  await h.world.pass(60);
  expect(h.world.events("web").filter((text) => text.includes("Annotation"))).toEqual([]);
  expect(h.cloud.project.balancers.list()).toHaveLength(1);
});

test("truncates fractions of a second in durations, as the Go manager does", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  await h.start("service");
  h.world.create("web", {
    annotations: prefixed({ "health-check-timeout": "4.6s" }),
    spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] },
  });
  await h.world.pass(60);
  expect(h.cloud.project.balancers.list()[0]?.services[0]?.health_check.timeout).toBe(4);
});
