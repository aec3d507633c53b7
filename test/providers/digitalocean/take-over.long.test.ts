// Taking over load balancers of the Go manager: nothing is changed at first, and each annotation later changes what it changes
// with the Go manager.

import { expect, test } from "bun:test";
import type { Balancer } from "../../../providers/digitalocean/simulator/index.ts";
import { lbFinalizer } from "../../support/service-world.ts";
import {
  type AnnotationCase,
  annotationCases,
  certificate,
  defaultRules,
  nodePortFor,
  nodePortOf,
} from "./annotations-table.ts";
import { DigitalOceanWorld, idAnnotation, prefix, quick } from "./digitalocean-world.ts";

const config = { "cluster-id": "prod", region: "nyc3" };
const worldOf = () => {
  const h = new DigitalOceanWorld({ nodes: 2, config, ...quick });
  const { id } = h.cloud.account.certificates.add("shop");
  return { h, id };
};

const portsOf = ({ ports = [[80, "TCP"]] }: AnnotationCase) => ports;
const draftOf = (one: AnnotationCase, certificateID: string, index = 0) => ({
  annotations: Object.fromEntries(
    Object.entries(one.annotations).map(([name, value]) => [
      prefix + name,
      value === certificate ? certificateID : value,
    ]),
  ),
  spec: {
    ports: portsOf(one).map(([port, protocol]) => ({
      name: `p${port}`,
      port,
      protocol,
      nodePort: nodePortFor(nodePortOf(port), index),
    })),
    ...one.spec,
  },
});

/** The load balancer that the Go manager creates for the Service. */
function balancerOf(
  h: DigitalOceanWorld,
  one: AnnotationCase,
  certificateID: string,
  index = 0,
): Partial<Balancer> {
  const { health_check, sticky_sessions, ...changes } = one.balancer;
  const type = changes.type ?? "REGIONAL_NETWORK";
  const rules = changes.forwarding_rules ?? defaultRules(type, portsOf(one));
  return {
    type,
    network: "EXTERNAL",
    network_stack: "IPV4",
    tags: ["k8s:prod"],
    size_unit: 1,
    size: "lb-small",
    droplet_ids: h.cloud.account.droplets.list().map(({ id }) => id),
    ...changes,
    forwarding_rules: rules.map((rule) => ({
      ...rule,
      target_port: nodePortFor(rule.target_port, index),
      certificate_id: rule.certificate_id === certificate ? certificateID : rule.certificate_id,
    })),
    health_check: {
      protocol: "http",
      path: "/healthz",
      proxy_protocol: false,
      check_interval_seconds: 3,
      response_timeout_seconds: 5,
      unhealthy_threshold: 3,
      healthy_threshold: 5,
      ...health_check,
      port: nodePortFor(health_check?.port ?? 10_256, index),
    },
    sticky_sessions: { type: "none", cookie_name: "", cookie_ttl_seconds: 0, ...sticky_sessions },
  };
}

/** Adds a Service with its load balancer, in the state that the Go manager leaves. */
function addManaged(h: DigitalOceanWorld, one: AnnotationCase, index: number, certificateID: string): string {
  const name = `s${index}`;
  const { uid } = h.world.create(name, {
    ...draftOf(one, certificateID, index),
    finalizers: [lbFinalizer],
  }).metadata;
  const { name: own, ...rest } = balancerOf(h, one, certificateID, index);
  const balancer = h.cloud.account.balancers.add(own ?? `a${uid.replaceAll("-", "")}`.slice(0, 32), rest);
  h.world.annotate(name, { [idAnnotation]: balancer.id, [`${prefix}type`]: balancer.type });
  const { ip, ipv6 } = balancer;
  const ingress =
    one.hostname === undefined
      ? [{ ip }, ...(ipv6 === "" ? [] : [{ ip: ipv6 }])]
      : [{ hostname: one.hostname }];
  h.world.edit(
    name,
    (service) => ({ ...service, status: { loadBalancer: { ingress: ingress as never } } }),
    "status",
  );
  return name;
}

const writes = (h: DigitalOceanWorld) => h.world.written.filter((what) => !what.includes("/events"));

test("twice takes over Services from DigitalOcean's Go manager without a change of the cloud or of an object", async () => {
  const { h, id } = worldOf();
  expect(annotationCases.length).toBeGreaterThanOrEqual(30);
  for (const [index, one] of annotationCases.entries()) addManaged(h, one, index, id);
  for (let start = 0; start < 2; start += 1) {
    await h.start();
    await h.world.pass(600);
    expect(h.changes).toEqual([]);
    expect(writes(h)).toEqual([]);
    await h.world.stop();
  }
});

const [none] = annotationCases;
if (none === undefined) throw new Error("Expected a case.");
const titled = annotationCases.map((one) => [one.name, one] as const);
/** Without the values that the cloud assigns. */
const comparable = ({ ip: _, ...wanted }: Partial<Balancer>) => wanted;

test.each(titled)("creates the load balancer as DigitalOcean's Go manager does: %s", async (_, one) => {
  const { h, id } = worldOf();
  await h.start();
  h.world.create("web", draftOf(one, id));
  await h.settle();
  const [balancer, ...others] = h.balancers();
  expect(others).toEqual([]);
  const wanted = balancerOf(h, one, id);
  expect(balancer).toMatchObject(comparable(wanted));
  if (one.balancer.ip !== undefined) expect(balancer?.ip).toBe(one.balancer.ip);
  const { annotations } = h.world.get("web").metadata;
  expect([annotations?.[idAnnotation], annotations?.[`${prefix}type`]]).toEqual([
    balancer?.id,
    balancer?.type,
  ]);
  const [ingress] = h.world.get("web").status.loadBalancer?.ingress ?? [];
  expect(ingress as unknown).toMatchObject(
    one.hostname === undefined ? { ip: balancer?.ip } : { hostname: one.hostname },
  );
});

test.each(titled.filter(([, { isFixed }]) => isFixed === undefined))(
  "applies the annotation with one change, as DigitalOcean's Go manager does: %s",
  async (_, one) => {
    const { h, id } = worldOf();
    const { type, network_stack, forwarding_rules: __, ...plain } = one.balancer;
    const annotations: Record<string, string> = type === undefined ? {} : { type };
    const before: AnnotationCase = {
      name: "before",
      annotations,
      ports: portsOf(one),
      balancer: type === undefined ? {} : { type, ...(network_stack && { network_stack }) },
    };
    const name = addManaged(h, before, 0, id);
    await h.start();
    await h.world.pass(30);
    h.forget();
    const { annotations: wanted, spec } = draftOf(one, id);
    h.world.edit(name, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...wanted } },
      spec: { ...rest.spec, ...(spec as object) },
    }));
    await h.settle();
    const isChanged = Object.keys(plain).length > 0 || one.balancer.forwarding_rules !== undefined;
    expect(h.changes).toEqual(isChanged ? ["PUT /v2/load_balancers/{id}"] : []);
    expect(h.balancers()[0]).toMatchObject(comparable(balancerOf(h, one, id)));
    h.forget();
    await h.world.stop();
    await h.start();
    await h.settle();
    expect(h.changes).toEqual([]);
  },
);
