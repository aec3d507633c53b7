// A whole manager on a simulated Hetzner project, with Services that share the load balancer `edge`.

import { HetznerWorld, type HetznerWorldOptions } from "./hetzner-world.ts";

export const prefix = "load-balancer.hetzner.cloud/";
export const tcp = (port: number, nodePort = (port < 1000 ? 30_000 : 31_000) + (port % 1000)) => ({
  name: `p${port}`,
  port,
  protocol: "TCP",
  nodePort,
});
export const draft = (annotations: Readonly<Record<string, string>>, ...ports: readonly object[]) => ({
  annotations: Object.fromEntries(
    Object.entries(annotations).map(([name, value]) => [name.includes("/") ? name : prefix + name, value]),
  ),
  spec: { ports: ports as never },
});
export const sharing = (more: Readonly<Record<string, string>> = {}) => ({
  name: "edge",
  shared: "namespace",
  ...more,
});

export class SharedWorld extends HetznerWorld {
  static async open(options: HetznerWorldOptions = {}): Promise<SharedWorld> {
    const h = new SharedWorld({ nodes: 2, ...options });
    await h.start("service");
    return h;
  }

  /** `web` on port 80 and `blog` on port 8080 share the load balancer `edge`. */
  static async shared(options: HetznerWorldOptions = {}): Promise<SharedWorld> {
    const h = await SharedWorld.open(options);
    h.world.create("web", draft(sharing(), tcp(80)));
    h.world.create("blog", draft(sharing(), tcp(8080)));
    await h.settle();
    h.forget();
    return h;
  }

  async settle(seconds = 90): Promise<void> {
    await this.world.pass(seconds);
  }

  /** Kills the manager at this request that changes the cloud: before it is sent, or after its answer. */
  crashAt(count: number, when: "before" | "after"): void {
    let seen = 0;
    this.world.onCrossing = (what, now) => {
      if (what.startsWith("GET ") || !what.includes("load_balancers") || now !== when) return;
      seen += 1;
      if (seen === count) this.world.crash();
    };
  }

  async restart(): Promise<void> {
    this.world.onCrossing = undefined;
    await this.world.stop();
    await this.start("service");
    await this.settle();
  }

  get all() {
    return this.cloud.project.balancers.list();
  }

  get only() {
    const [balancer, ...others] = this.all;
    if (balancer === undefined || others.length > 0) throw new Error("Expected one load balancer.");
    return balancer;
  }

  get ports(): readonly number[] {
    return this.only.services.map(({ listen_port }) => listen_port).toSorted((a, b) => a - b);
  }

  /** The Services in the labels of ports: "80 web". */
  get marks(): readonly string[] {
    return Object.keys(this.only.labels)
      .flatMap((key) => /^(\d+)\..*\.fairlead\.dev\/(.*)$/.exec(key)?.slice(1).join(" ") ?? [])
      .toSorted();
  }

  get changes(): readonly string[] {
    return this.requests.filter((one) => !one.startsWith("GET ")).map((one) => one.split("/").at(-1) ?? "");
  }

  events(name: string): string {
    return this.world.events(name).join("\n");
  }

  nodeLabels(name: string, labels: Readonly<Record<string, string>>): void {
    this.world.changeNode(name, (node) => ({ ...node, metadata: { ...node.metadata, labels } }));
  }

  get serversOfTargets(): readonly string[] {
    const { servers } = this.cloud.project;
    return this.only.targets
      .flatMap((target) => (target.type === "server" ? servers.existing(target.server).name : target.type))
      .toSorted();
  }
}

export const listener = (listen_port: number, destination_port = listen_port) => ({
  protocol: "tcp" as const,
  listen_port,
  destination_port,
  proxyprotocol: false,
  health_check: { protocol: "tcp" as const, port: destination_port, interval: 15, timeout: 10, retries: 3 },
});

/** The load balancer of Terraform, with the API server on port 6443 and a control plane that is not a Node. */
export function addTerraform(h: HetznerWorld) {
  const { balancers, servers } = h.cloud.project;
  const control = servers.add("control-plane", {});
  return balancers.add("edge", {
    labels: { team: "platform" },
    services: [listener(6443)],
    targets: [{ type: "server", server: control.id, usesPrivateIp: false }],
  });
}
