// Pairs of specifications with the Go manager and with Fairlead, each in an own simulated project. Runs as `npm run
// test:clients -- openstack/pairs`.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Answer, serveCloud } from "#ccm/testing";
import { keyOf } from "../../../../../providers/openstack/annotations.ts";
import {
  addExternalNetwork,
  addPort,
  addRouter,
  addServer,
  addSubnet,
  ensureSubnet,
  OpenStackCloud,
} from "../../../../../providers/openstack/simulator/index.ts";
import type { RehearsedCloud } from "../../../../../scripts/rehearse/cloud.ts";
import { openstack } from "../../../../../scripts/rehearse/clouds/openstack.ts";
import { milliseconds } from "../../../../../src/core/brand.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import type { OpenedCloud, PeerCloud } from "../../../../clients/pairs/pair-cloud.ts";
import { peerPairs } from "../../../../clients/pairs/suite.ts";
import { requested, vocabulary } from "../../pair-vocabulary.ts";
import { explanations } from "./explanations.ts";
import { requestedRange, seenService } from "./pair-views.ts";

const [id, secret] = ["fairlead", "s".repeat(40)];
const cluster = "pairs";

/** Ids by which drawn specifications name objects. */
const drawn = {
  network: "network-public",
  floating: ["subnet-public-1", "subnet-public-2"],
  networks: ["network-nodes", "network-other"],
  subnets: ["subnet-nodes", "subnet-other"],
  port: "port-reserved",
};

interface Service {
  readonly endpoints: readonly { readonly url: string }[];
}

/** The catalog of a cloud with Barbican, without which the Go manager refuses TLS. */
function withBarbican(answer: Answer): Answer {
  const { token } = (answer.body ?? {}) as { readonly token?: { readonly catalog?: readonly Service[] } };
  const [first] = token?.catalog ?? [];
  if (token?.catalog === undefined || first === undefined) return answer;
  const endpoints = first.endpoints.map((one) => ({ ...one, url: new URL("/key-manager/v1", one.url).href }));
  const barbican = { type: "key-manager", name: "key-manager", endpoints };
  return { ...answer, body: { token: { ...token, catalog: [...token.catalog, barbican] } } };
}

interface Tagged {
  readonly subnets?: readonly { readonly tags: readonly string[] }[];
}

/** Only the subnets that have, or lack, a tag, by which the Go manager lists them. */
function withTags(
  answer: Answer,
  { any, not }: Readonly<Record<"any" | "not", string | null | undefined>>,
): Answer {
  const { subnets, ...body } = (answer.body ?? {}) as Tagged;
  if (subnets === undefined) return answer;
  const isWanted = ({ tags }: { readonly tags: readonly string[] }) =>
    (any == null || tags.includes(any)) && (not == null || !tags.includes(not));
  return { ...answer, body: { ...body, subnets: subnets.filter(isWanted) } };
}

async function open(): Promise<OpenedCloud> {
  // The Go manager looks for the end of a change immediately, and then once a second.
  const times = { balancer: milliseconds(0) };
  const cloud = new OpenStackCloud({ clock: systemClock, times });
  const { project, keystone } = cloud;
  keystone.applicationCredentials.set(id, secret);
  const first = addExternalNetwork(project);
  addRouter(project, "router-1");
  const nodes = ensureSubnet(project, "nodes", "10.1.0.0/16");
  const other = ensureSubnet(project, "other", "10.2.0.0/16");
  const second = addSubnet(project, project.networks.existing("public"), "public-2", "198.20.0.0/16");
  project.subnets.change(second.id, { tags: ["fast"] });
  const ids: Readonly<Record<string, string>> = {
    "network-public": first.network_id,
    "subnet-public-1": first.id,
    "subnet-public-2": second.id,
    "network-nodes": nodes.network_id,
    "network-other": other.network_id,
    "subnet-nodes": nodes.id,
    "subnet-other": other.id,
  };
  const receive: OpenStackCloud["receive"] = (request) => {
    const url = new URL(request.url);
    const [any, not] = ["tags-any", "not-tags"].map((name) => url.searchParams.get(name));
    for (const name of ["tags-any", "not-tags"]) url.searchParams.delete(name);
    const { answer, ...delivery } = cloud.receive({ ...request, url });
    return { ...delivery, answer: withTags(withBarbican(answer), { any, not }) };
  };
  const served = serveCloud({ clock: systemClock, receive }, 0);
  const folder = mkdtempSync(join(tmpdir(), "fairlead-pairs-"));
  const path = join(folder, "cloud.conf");
  const lines = [
    "[Global]",
    `auth-url = ${served.url}/identity/v3`,
    "region = RegionOne",
    `application-credential-id = ${id}`,
    `application-credential-secret = ${secret}`,
    "[LoadBalancer]",
    "manage-security-groups = true",
    "container-store = external",
    '[LoadBalancerClass "gold"]',
    "floating-subnet = public-2",
    '[LoadBalancerClass "silver"]',
    "floating-subnet-tags = !fast",
    "",
  ];
  writeFileSync(path, lines.join("\n"));
  const rehearsed: RehearsedCloud = {
    api: {
      // A token does not change the project.
      get seen() {
        return cloud.seen.filter(({ operation }) => !operation.endsWith("/auth/tokens"));
      },
      forget: () => cloud.forget(),
    },
    // Several workers of the Go manager overwrite each other's changes of a port.
    flags: [`--cloud-config=${path}`, `--cluster-name=${cluster}`, "--concurrent-service-syncs=1"],
    env: {},
    services: {},
    addMachine: (name) => void addServer(project, name),
    state: () => ({}),
    isComplete: () => true,
    [Symbol.asyncDispose]: async () => {
      rmSync(folder, { recursive: true, force: true });
      await served[Symbol.asyncDispose]();
    },
  };
  let addresses = 0;
  return {
    definition: { ...openstack, open: () => rehearsed },
    labeled: "node-0",
    prepare: async (name, _, specifications) => {
      addresses += 1;
      const address = `${requestedRange}${addresses}`;
      const text = JSON.stringify(specifications);
      const reserved = text.includes(drawn.port)
        ? addPort(project, nodes, { name: `reserved-${name}` })
        : undefined;
      return {
        annotation: (key, value) =>
          key === keyOf("port-id") && value === drawn.port ? (reserved?.id ?? value) : (ids[value] ?? value),
        spec: (spec) => (spec["loadBalancerIP"] === requested ? { ...spec, loadBalancerIP: address } : spec),
        aliases: [
          [address, requested],
          [reserved?.id ?? "", drawn.port],
        ],
      };
    },
    read: async () => (name) => seenService(cloud, cluster, name),
  };
}

const cloud: PeerCloud = { name: "openstack", vocabulary: vocabulary(drawn), perCloud: 50, open };

peerPairs(cloud, process.env["OPENSTACK_CCM"] ?? "", explanations);
