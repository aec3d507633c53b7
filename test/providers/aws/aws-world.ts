// A whole manager on a simulated account of AWS, in virtual time.

import { asTransport } from "#ccm/testing";
import { aws } from "../../../providers/aws/index.ts";
import { clusterCloud, config } from "../../../providers/aws/simulator/harness.ts";
import type { AwsCloud, NewInstance } from "../../../providers/aws/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";
import { owned } from "./aws-lab.ts";

const nodes = resourceNamed("nodes");

export class AwsWorld {
  readonly world: ServiceWorld;
  readonly cloud: AwsCloud;
  #joined = 0;

  constructor() {
    let cloud: AwsCloud | undefined;
    this.world = new ServiceWorld({
      nodes: 0,
      controllers: "cloud-node",
      provider: aws,
      cloud: (clock) => {
        cloud = clusterCloud({ clock, latency: milliseconds(20) });
        return asTransport(cloud);
      },
    });
    if (cloud === undefined) throw new Error("Expected a cloud.");
    this.cloud = cloud;
  }

  start(
    controllers = "cloud-node,cloud-node-lifecycle,node-route",
    ...flags: readonly string[]
  ): Promise<void> {
    const settings = Object.entries(config).map(([name, value]) => `${name}=${value}`);
    return this.world.start(
      `--config-set=${settings.join(",")}`,
      `--controllers=${controllers}`,
      "--cluster-cidr=10.244.0.0/16",
      ...flags,
    );
  }

  /** A Node that joins, with a new instance. */
  joinNode(name: string, options: NewInstance = {}): string {
    const podCIDR = `10.244.${this.#joined++}.0/24`;
    const spec = { taints: [uninitialized], podCIDR, podCIDRs: [podCIDR] };
    this.world.server.store.put(
      nodes,
      toNode({ name, uid: `uid-${name}`, spec }, this.world.clock.now()) as unknown as KubeObject,
    );
    return this.cloud.account.add(name, { tags: owned, ...options }).id;
  }

  nodes(): readonly Node[] {
    return this.world.server.store.list("nodes") as unknown as readonly Node[];
  }

  get uninitialized(): number {
    return this.nodes().filter(({ spec }) => spec.providerID === undefined).length;
  }

  /** For example "10.244.0.0/24 i-…". */
  routes(): readonly string[] {
    const all = this.cloud.account.tables.existing("cluster").routes;
    return all.flatMap(({ destination, target }) =>
      target.startsWith("i-") ? [`${destination} ${target}`] : [],
    );
  }
}
