// Services of every shape, and how users change them. Two Nodes are their targets.

import { until } from "../../cluster/rig/until.ts";
import { ownerLabel } from "../rig/cloud-calls.ts";
import type { Batch, Explained, Scenario, Step } from "../rig/scenario.ts";
import type { World } from "../rig/world.ts";
import { act, joins } from "./node-scenarios.ts";

const finalizer = "service.kubernetes.io/load-balancer-cleanup";
const sourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges";
const algorithm = "balancer.fake.example/algorithm";

const port = (name: string, number: number, more: object = {}): object => ({
  name,
  port: number,
  targetPort: 8000 + number,
  ...more,
});

export const nothing: Step = act("nothing happens", () => undefined);

const hasAddress = async (world: World, name: string): Promise<boolean> =>
  ((await world.service(name))?.status.loadBalancer?.ingress ?? []).length > 0;

/** A Service with a load balancer, after the Nodes have joined. */
export const creates = (name: string, spec: object = {}, metadata: object = {}): readonly Step[] => [
  nothing,
  act(
    `a user creates the Service ${name}`,
    (world) => world.createService(name, spec, metadata),
    (world) => hasAddress(world, name),
  ),
];

/** Creates a Service that gets no load balancer. */
const createsOther = (name: string, spec: object, metadata: object = {}): readonly Step[] => [
  nothing,
  act(`a user creates the Service ${name}`, (world) => world.createService(name, spec, metadata)),
];

export const edits = (name: string, body: object): Step =>
  act(`a user changes the Service ${name}`, (world) => world.editService(name, body));
/** Ends when the load balancer has the ports of the Service. */
const changes = (name: string, spec: object): Step => ({
  ...edits(name, { spec }),
  until: async (world) => {
    const wanted = (await world.service(name))?.spec.ports ?? [];
    const [balancer] = await balancersOf(world, name);
    const forwarded = balancer?.listeners.map(({ port: number }) => number) ?? [];
    return Bun.deepEquals(forwarded.toSorted(), wanted.map(({ port: number }) => number).toSorted());
  },
});
const annotates = (name: string, annotations: Readonly<Record<string, string | null>>): Step =>
  edits(name, { metadata: { annotations } });

const balancersOf = async (world: World, name: string) => {
  const uid = (await world.service(name))?.metadata.uid;
  return world.cloud.balancers.list().filter(({ labels }) => labels[ownerLabel] === uid);
};

const isGone = async (world: World, name: string): Promise<boolean> =>
  (await world.service(name)) === undefined;
const hasNoFinalizer = async (world: World, name: string): Promise<boolean> =>
  !((await world.service(name))?.metadata.finalizers ?? []).includes(finalizer);

export const deletes = (name: string): Step =>
  act(
    `a user deletes the Service ${name}`,
    (world) => world.deleteService(name),
    (world) => isGone(world, name),
  );

/** Requests that the cloud cannot honor. */
const reported = (name: string, reason: string): readonly Explained[] => [
  { at: `Service ${name}: event Warning ${reason}: *`, row: "D105" },
  { at: `Service ${name}: condition CloudWarning`, row: "D105" },
];

const dual = { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"] };

export const shapes: readonly Scenario[] = [
  {
    name: "simple",
    title: "creates and deletes a load balancer",
    steps: [...creates("simple"), deletes("simple")],
  },
  {
    name: "many-ports",
    title: "forwards several ports and protocols",
    steps: creates("many-ports", {
      ports: [
        port("dns", 53, { protocol: "UDP" }),
        port("dns-tcp", 53),
        port("sctp", 90, { protocol: "SCTP" }),
      ],
    }),
  },
  {
    name: "local",
    title: "creates a load balancer with externalTrafficPolicy Local, and changes it to Cluster",
    explained: reported("local", "UnsupportedRequest"),
    steps: [
      ...creates("local", { externalTrafficPolicy: "Local" }),
      changes("local", { externalTrafficPolicy: "Cluster" }),
    ],
  },
  {
    name: "affinity",
    title: "reports a session affinity that the cloud does not have",
    explained: reported("affinity", "UnsupportedRequest"),
    steps: [
      ...creates("affinity", { sessionAffinity: "ClientIP" }),
      changes("affinity", { sessionAffinity: "None", sessionAffinityConfig: null }),
    ],
  },
  {
    name: "ip-wanted",
    title: "reports spec.loadBalancerIP that the cloud cannot honor",
    explained: reported("ip-wanted", "AddressIgnored"),
    steps: [
      ...creates("ip-wanted", { loadBalancerIP: "192.0.2.200" }),
      changes("ip-wanted", { loadBalancerIP: null }),
    ],
  },
  {
    name: "dual",
    title: "publishes both addresses of a dual-stack Service, and drops one",
    steps: [
      ...creates("dual", dual),
      changes("dual", { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"], clusterIPs: null }),
    ],
  },
  {
    name: "upgrade",
    title: "adds a second address family",
    steps: [...creates("upgrade"), changes("upgrade", dual)],
  },
  { name: "six", title: "creates an IPv6 load balancer", steps: creates("six", { ipFamilies: ["IPv6"] }) },
  {
    name: "without-ports",
    title: "creates a load balancer without node ports",
    steps: creates("without-ports", { allocateLoadBalancerNodePorts: false }),
  },
  {
    name: "external-ips",
    title: "ignores external IPs and their change",
    steps: [
      ...creates("external-ips", { externalIPs: ["198.51.100.7"] }),
      changes("external-ips", { externalIPs: ["198.51.100.8"] }),
    ],
  },
  {
    name: "ranges",
    title: "applies source ranges, and their change",
    steps: [
      ...creates("ranges", { loadBalancerSourceRanges: ["203.0.113.0/24", "198.51.100.0/24"] }),
      changes("ranges", { loadBalancerSourceRanges: ["203.0.113.0/25"] }),
      changes("ranges", { loadBalancerSourceRanges: null }),
    ],
  },
  {
    name: "range-note",
    title: "applies source ranges of the annotation, and their change",
    steps: [
      ...creates("range-note", {}, { annotations: { [sourceRanges]: "203.0.113.0/24, 198.51.100.0/24" } }),
      annotates("range-note", { [sourceRanges]: null }),
    ],
  },
];

const changed: readonly Scenario[] = [
  {
    name: "ports",
    title: "adds, changes and removes ports",
    steps: [
      ...creates("ports"),
      changes("ports", { ports: [port("web", 80), port("tls", 443)] }),
      changes("ports", { ports: [port("web", 8080), port("tls", 443)] }),
      changes("ports", { ports: [port("tls", 443)] }),
    ],
  },
  {
    name: "target-port",
    title: "does nothing for changes of a port that do not concern the load balancer",
    steps: [
      ...creates("target-port"),
      changes("target-port", { ports: [port("web", 80, { targetPort: 9000, appProtocol: "http" })] }),
    ],
  },
  {
    name: "noted",
    title: "applies an annotation of the cloud, and its removal",
    steps: [
      ...creates("noted", {}, { annotations: { [algorithm]: "least-connections" } }),
      annotates("noted", { [algorithm]: null }),
    ],
  },
  {
    name: "other-note",
    title: "does nothing for an annotation of another program",
    steps: [...creates("other-note"), annotates("other-note", { "example.com/note": "changed" })],
  },
  {
    name: "selector",
    title: "does nothing for changes of the selector and of labels",
    steps: [
      ...creates("selector"),
      edits("selector", { metadata: { labels: { team: "web" } }, spec: { selector: { app: "other" } } }),
    ],
  },
  {
    name: "type-changed",
    title: "deletes the load balancer when the type changes, and creates it again",
    steps: [
      ...creates("type-changed"),
      act(
        "a user changes the type to ClusterIP",
        (world) =>
          world.editService("type-changed", { spec: { type: "ClusterIP", ports: [port("web", 80)] } }),
        (world) => hasNoFinalizer(world, "type-changed"),
      ),
      act(
        "a user changes the type to LoadBalancer",
        (world) => world.editService("type-changed", { spec: { type: "LoadBalancer" } }),
        (world) => hasAddress(world, "type-changed"),
      ),
    ],
  },
  {
    name: "node-port",
    title: "creates a load balancer when a NodePort Service becomes one, and deletes it",
    steps: [
      ...createsOther("node-port", { type: "NodePort" }),
      act(
        "a user changes the type to LoadBalancer",
        (world) => world.editService("node-port", { spec: { type: "LoadBalancer" } }),
        (world) => hasAddress(world, "node-port"),
      ),
      act(
        "a user changes the type to NodePort",
        (world) => world.editService("node-port", { spec: { type: "NodePort" } }),
        (world) => hasNoFinalizer(world, "node-port"),
      ),
    ],
  },
  {
    name: "other-class",
    title: "leaves a Service of another class alone",
    steps: [
      ...createsOther("other-class", { loadBalancerClass: "example.com/lb" }),
      nothing,
      deletes("other-class"),
    ],
  },
  {
    name: "class-note",
    title: "leaves a Service of another class alone that has the finalizer and is deleted",
    explained: [
      { at: "Service class-note: exists", row: "D40" },
      { at: "Service class-note: event Normal DeletedLoadBalancer: *", row: "D40" },
    ],
    steps: [
      ...createsOther("class-note", { loadBalancerClass: "example.com/lb" }, { finalizers: [finalizer] }),
      act("a user deletes it", (world) => world.deleteService("class-note")),
    ],
  },
  {
    name: "cluster-ip",
    title: "leaves a Service of type ClusterIP alone",
    steps: createsOther("cluster-ip", { type: "ClusterIP" }),
  },
  {
    name: "foreign",
    title: "keeps foreign finalizers and annotations through changes and the deletion",
    steps: [
      ...creates("foreign", {}, { finalizers: ["example.com/hold"], annotations: { "example.com/a": "1" } }),
      changes("foreign", { ports: [port("web", 80), port("tls", 443)] }),
      act(
        "a user deletes it",
        (world) => world.deleteService("foreign"),
        (world) => hasNoFinalizer(world, "foreign"),
      ),
      act(
        "the foreign finalizer is removed",
        (world) => world.editService("foreign", { metadata: { finalizers: null } }),
        (world) => isGone(world, "foreign"),
      ),
    ],
  },
  {
    name: "status",
    title: "restores a status that another writer removed",
    explained: [{ at: "Service status: ingress", row: "D44" }],
    steps: [
      ...creates("status"),
      act("another writer removes the status", (world) =>
        world.editServiceStatus("status", { status: { loadBalancer: { ingress: null } } }),
      ),
    ],
  },
  {
    name: "drifted",
    title: "restores a load balancer that was changed by hand when its Service changes",
    explained: [
      // One call or two, with a report in between, depending on whether a listing was due.
      { at: "load balancer of drifted: call change *", row: "D43", isSometimes: true },
      { at: "Service drifted: event Warning LoadBalancerDrift: *", row: "D43", isSometimes: true },
    ],
    steps: [
      ...creates("drifted"),
      act("an operator changes it, and a user its Service", async (world) => {
        const [balancer] = await balancersOf(world, "drifted");
        world.cloud.balancers.change(balancer?.id ?? "", { algorithm: "least-connections", targets: [] });
        await world.editService("drifted", { spec: { ports: [port("web", 80), port("tls", 443)] } });
      }),
    ],
  },
  {
    name: "lost-balancer",
    title: "waits for proof before it creates a load balancer again that is not listed",
    explained: [
      { at: "load balancer of lost-balancer: exists", row: "D102" },
      { at: "load balancer of lost-balancer: call create", row: "D102" },
      { at: "Service lost-balancer: ingress", row: "D102" },
      { at: "Service lost-balancer: event Normal WaitingForCloud: *", row: "D102" },
      // With the profile, the new load balancer exists, and has a different address.
      { at: "Service lost-balancer: event Warning AddressChanged: *", row: "D108", isSometimes: true },
      // Upstream queries the cloud before each change; Fairlead uses a listing.
      { at: "Service lost-balancer: event Warning SyncLoadBalancerFailed: *", row: "D35", isSometimes: true },
      { at: "load balancer of lost-balancer: call change listeners*", row: "D35", isSometimes: true },
      { at: "Service lost-balancer: event Warning LoadBalancerDrift: *", row: "D43", isSometimes: true },
    ],
    steps: [
      ...creates("lost-balancer"),
      act("an operator removes it, and a user changes its Service", async (world) => {
        const [balancer] = await balancersOf(world, "lost-balancer");
        world.cloud.balancers.remove(balancer?.id ?? "");
        await world.editService("lost-balancer", { spec: { ports: [port("web", 80), port("tls", 443)] } });
      }),
    ],
  },
  {
    name: "wrong-note",
    title: "keeps the value of a setting whose annotation is invalid",
    explained: [
      { at: "load balancer of wrong-note: algorithm", row: "D46" },
      { at: "load balancer of wrong-note: call change algorithm", row: "D46" },
      { at: "Service wrong-note: condition CloudReady", row: "D46" },
      { at: "Service wrong-note: event Warning InvalidAnnotation: *", row: "D46" },
    ],
    steps: [...creates("wrong-note"), annotates("wrong-note", { [algorithm]: "fastest" })],
  },
  {
    name: "recreated",
    title: "replaces the load balancer of a Service that is created again under its name",
    steps: [
      ...creates("recreated"),
      act(
        "a user deletes it, and creates it again",
        async (world) => {
          const before = (await world.service("recreated"))?.metadata.uid;
          await world.deleteService("recreated");
          await until("the deletion of recreated", async () => isGone(world, "recreated"));
          world.serviceNames.set(before ?? "", "recreated-before");
          await world.createService("recreated");
        },
        (world) => hasAddress(world, "recreated"),
      ),
    ],
  },
  {
    name: "external-name",
    title: "deletes the load balancer when the type changes to ExternalName",
    steps: [
      ...creates("external-name"),
      act(
        "a user changes the type",
        (world) =>
          world.editService("external-name", {
            spec: { type: "ExternalName", externalName: "example.com", clusterIP: null, clusterIPs: null },
          }),
        (world) => hasNoFinalizer(world, "external-name"),
      ),
    ],
  },
  {
    name: "unfinalized",
    title: "deletes the load balancer of a Service whose finalizer was removed by hand",
    explained: [
      // Immediately if Fairlead restores the finalizer before the user deletes the Service, otherwise after 30 s.
      { at: "load balancer of unfinalized: exists", row: "D47", isSometimes: true },
      { at: "load balancer of unfinalized: call delete", row: "D47", isSometimes: true },
      { at: "Service unfinalized: event Normal Delet*", row: "D47", isSometimes: true },
    ],
    steps: [
      ...creates("unfinalized"),
      act("a user removes the finalizer and the Service", async (world) => {
        await world.editService("unfinalized", { metadata: { finalizers: null } });
        await world.deleteService("unfinalized");
      }),
    ],
  },
];

const targets: Scenario = {
  name: "target",
  title: "initializes the Nodes that are targets",
  steps: [
    act(
      "two Nodes join",
      async (world) => {
        await joins("target-1").act(world);
        await joins("target-2").act(world);
      },
      async (world) =>
        (await joins("target-1").until?.(world)) === true &&
        (await joins("target-2").until?.(world)) === true,
    ),
  ],
};

export const services: Batch = [targets, ...shapes, ...changed];
