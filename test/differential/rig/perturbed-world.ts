// A world whose manager reaches its control plane through a perturbed server.

import { readFileSync } from "node:fs";
import { systemTransport, type TlsMaterial, type Transport } from "../../../src/platform/transport.ts";
import { Oracle } from "../../perturbation/oracle.ts";
import { PerturbedServer } from "../../perturbation/perturbed-server.ts";
import type { Bench } from "../../perturbation/play.ts";
import { type ServedTransport, serveTransport } from "../../perturbation/serve-transport.ts";
import type { Manager } from "./managers.ts";
import type { Plane } from "./planes.ts";
import { World } from "./world.ts";

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string };
  }[];
  readonly users: readonly {
    readonly user: { readonly "client-certificate-data": string; readonly "client-key-data": string };
  }[];
}

/** The API server's address and how it is reached. The rig writes its kubeconfigs as JSON. */
const readKubeconfig = (path: string): { readonly server: string; readonly tls: TlsMaterial } => {
  const { clusters, users } = JSON.parse(readFileSync(path, "utf8")) as Kubeconfig;
  const [[one], [user]] = [clusters, users];
  if (one === undefined || user === undefined) throw new Error(`${path} has no cluster or no user.`);
  const text = (data: string): string => Buffer.from(data, "base64").toString();
  return {
    server: one.cluster.server,
    tls: {
      ca: text(one.cluster["certificate-authority-data"]),
      cert: text(user.user["client-certificate-data"]),
      key: text(user.user["client-key-data"]),
    },
  };
};

export class PerturbedWorld extends World implements Bench {
  server!: PerturbedServer;
  oracle!: Oracle;
  onWrite = (): void => undefined;
  /** Longer than every interval of the managers. */
  readonly quietTicks = 14;
  readonly finalTicks = 14;
  readonly patienceTicks = 500;
  #entrance: ServedTransport | undefined;

  /** An empty cluster and cloud for this manager. */
  static async prepare(plane: Plane, manager: Manager): Promise<PerturbedWorld> {
    const { api, clusterUID } = await World.open(plane);
    const world = new PerturbedWorld(plane, api, clusterUID);
    await world.reset();
    const { server, tls } = readKubeconfig(plane.kubeconfig);
    const send: Transport = (request, signal) => systemTransport({ ...request, tls }, signal);
    world.oracle = new Oracle(world, () => world.onWrite());
    world.server = new PerturbedServer(world.oracle.watch(send));
    world.#entrance = serveTransport(world.server.transport, server);
    const kubeconfig = world.file(
      `perturbed-${crypto.randomUUID()}`,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "perturbed",
        clusters: [{ name: "perturbed", cluster: { server: world.#entrance.url } }],
        users: [{ name: "perturbed", user: {} }],
        contexts: [{ name: "perturbed", context: { cluster: "perturbed", user: "perturbed" } }],
      }),
    );
    world.#manager = { ...manager, flags: [...manager.flags, `--kubeconfig=${kubeconfig}`] };
    return world;
  }
  #manager: Manager | undefined;

  override start(): Promise<void> {
    return super.start(this.#manager);
  }

  tick(): Promise<void> {
    return Bun.sleep(150);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await super[Symbol.asyncDispose]();
    await this.#entrance?.[Symbol.asyncDispose]();
  }
}
