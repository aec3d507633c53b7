// Kubernetes objects whose strings come from users: Service annotations with each provider's table, and fields of
// Nodes. An input has one string per line. Also the stream of a watch, with changes that a proxy may make.

import { aws } from "../../../providers/aws/index.ts";
import { harness as awsHarness } from "../../../providers/aws/simulator/harness.ts";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import { harness as digitaloceanHarness } from "../../../providers/digitalocean/simulator/harness.ts";
import { fake } from "../../../providers/fake/index.ts";
import { harness as fakeHarness } from "../../../providers/fake/simulator/harness.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { harness as hetznerHarness } from "../../../providers/hetzner/simulator/harness.ts";
import { openstack } from "../../../providers/openstack/index.ts";
import { harness as openstackHarness } from "../../../providers/openstack/simulator/harness.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { harness as rancherHarness } from "../../../providers/rancher/simulator/harness.ts";
import { harness as vsphereHarness } from "../../../providers/vsphere/simulator/harness.ts";
import { annotationsOf } from "../../../src/app/configuration/cloud-settings.ts";
import { nodeNotices } from "../../../src/controllers/node/node-notices.ts";
import { planNode } from "../../../src/controllers/node/plan.ts";
import { nodeDefaults } from "../../../src/controllers/node/settings.ts";
import { identityOf, ipsOf, podCIDRsOf } from "../../../src/controllers/node-facts.ts";
import { readAnnotations } from "../../../src/controllers/service/annotations/annotations.ts";
import { servesWithoutClass } from "../../../src/controllers/service/served-classes.ts";
import { providerID } from "../../../src/core/brand.ts";
import { lintService } from "../../../src/inspect/lint/lint-service.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { watch } from "../../../src/kube/watch/watch.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { Lab } from "../../../src/testing/conformance/lab.ts";
import type { Harness } from "../../../src/testing/conformance/simulated-cloud.ts";
import { scripted } from "../../kube/support/scripted.ts";
import type { FuzzTarget } from "../target.ts";
import { json, lines } from "../tree.ts";

/** `key=value` on each line. */
const pairsIn = (input: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    input.split("\n").map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
    }),
  );

const rangesKey = "service.beta.kubernetes.io/load-balancer-source-ranges";

const annotationsTarget = (provider: { readonly name: string }, harness: Harness): FuzzTarget => {
  const definition = provider as unknown as AnyProvider;
  const table = annotationsOf(definition);
  const { facts = {} } = definition;
  const { loadBalancers: balancers } = new Lab(harness).cloud;
  const keys = Object.entries(table.fields).map(
    ([name, { fallback }]) => `${name.includes("/") ? name : table.prefix + name}=${String(fallback ?? "1")}`,
  );
  const own = [
    "fairlead.dev/target-selector=pool in (a, b),!x,y=z",
    "fairlead.dev/target-limit=3",
    "fairlead.dev/target-drain=1m30s",
    `${rangesKey}=10.0.0.0/8, fd00::/8`,
  ];
  return {
    name: `annotations-${definition.name}`,
    form: lines,
    corpus: [[...keys, ...own].join("\n"), own.join("\n")],
    run: (input) => {
      const annotations = pairsIn(input);
      const spec = {
        type: "LoadBalancer",
        ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }],
        loadBalancerIP: annotations["ip"] ?? "192.0.2.1",
        loadBalancerSourceRanges: (annotations[rangesKey] ?? "").split(","),
      };
      const service = {
        metadata: { name: "web", namespace: "default", uid: "u", annotations },
        spec,
        status: {},
      };
      readAnnotations(table, service as never);
      return lintService(service, { classes: servesWithoutClass, table, facts, balancers });
    },
    growth: 60,
  };
};

const node = (input: string): Node => {
  const { name = "node-1", id, range = "", address = "", taint = "", ...rest } = pairsIn(input);
  return {
    metadata: { name, uid: "u", labels: rest, annotations: rest },
    spec: {
      ...(id !== undefined && { providerID: id }),
      podCIDRs: range.split(","),
      taints: taint.split(",").map((key) => ({ key, effect: "NoSchedule" })),
    },
    status: { addresses: address.split(",").map((one) => ({ type: "InternalIP", address: one })) },
  } as unknown as Node;
};

const sources = [
  awsHarness,
  digitaloceanHarness,
  fakeHarness,
  hetznerHarness,
  openstackHarness,
  rancherHarness,
  vsphereHarness,
].flatMap((harness) => new Lab(harness).cloud.instances?.sources ?? []);

const event = (type: string, name: string) => ({
  type,
  object: {
    metadata: { name, uid: `uid-${name}`, resourceVersion: "7", annotations: { a: "b" } },
    spec: { providerID: "fake://1", taints: [{ key: "a", effect: "NoSchedule" }] },
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  },
});
const bookmark = {
  type: "BOOKMARK",
  object: { metadata: { resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } } },
};
const gone = {
  type: "ERROR",
  object: { kind: "Status", code: 410, message: "too old", details: { causes: [{}] } },
};

export const objectTargets: readonly FuzzTarget[] = [
  annotationsTarget(fake, fakeHarness),
  annotationsTarget(hetzner, hetznerHarness),
  annotationsTarget(digitalocean, digitaloceanHarness),
  annotationsTarget(openstack, openstackHarness),
  annotationsTarget(aws, awsHarness),
  annotationsTarget(rancher, rancherHarness),
  {
    name: "node",
    form: lines,
    corpus: [
      "id=hcloud://42\nname=node-1.example\naddress=10.0.0.1,fd00::1\nrange=10.244.1.0/24\nfairlead.dev/paused=true\nalpha.kubernetes.io/provided-node-ip=10.0.0.1",
      "id=aws:///eu-1a/i-0123456789abcdef0\ntaint=node.cloudprovider.kubernetes.io/uninitialized\nteam.example/x=1",
      "id=openstack:///0b24f9b8-e2a1-4cd8-a3a1-b4e0f7e9c3d1\nfairlead.dev/node-deletion=never",
      "id=vsphere://4237b8d1-5d0a-4a71-9d0f-5b6a5f6e3b2c\nfairlead.dev/cloud-labels=a,b",
    ],
    run: (input) => {
      const one = node(input);
      const keys = sources.map((source) => source.keyOf(one.spec.providerID ?? ""));
      const instance = {
        key: "1",
        id: providerID("fake://1"),
        names: [one.metadata.name],
        title: "1",
        addresses: [{ kind: "InternalIP", value: "10.0.0.1" }],
        type: "t",
        cloudLabels: one.metadata.labels,
        keepsInternalIPs: ["IPv4"],
      } as const;
      const settings = { ...nodeDefaults, labelsFrom: ["*"], taintsFrom: "team.example/" };
      const plan = planNode({ node: one, instance, ownPrefixes: ["fake.example/"], settings });
      return [
        keys,
        plan,
        nodeNotices(one, { isForeign: true }),
        identityOf(one),
        ipsOf(one),
        podCIDRsOf(one),
      ];
    },
    growth: 100,
  },
  {
    name: "watch",
    form: {
      parse: (text) => text.split("\n").flatMap((line) => json.parse(line)),
      print: (trees) => trees.map((tree) => json.print([tree])).join("\n"),
    },
    corpus: [
      [event("ADDED", "a"), bookmark, event("MODIFIED", "a"), event("DELETED", "a"), gone]
        .map((one) => JSON.stringify(one))
        .join("\n"),
    ],
    run: async (input) => {
      const seen: unknown[] = [];
      for (const resource of [nodes, services]) {
        const { api, clock } = scripted(() => new Response(`${input}\n`));
        const stop = new AbortController();
        for await (const step of watch(
          { api, resource: resource as typeof nodes, clock, random: seededRandom(1) },
          stop.signal,
        )) {
          seen.push(step);
          if (step.type === "failed" || seen.length > 50) stop.abort();
        }
      }
      return seen;
    },
    growth: 60,
    cost: 5,
  },
];
