// Runs the real manager with a provider, the simulated cloud of its harness, and a test API server with simulated kubelets: Nodes
// join, and a Service gets a load balancer and is deleted.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/app/configuration/cloud-settings.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { createManager, type Manager } from "../../src/app/manager/manager.ts";
import { systemPlatform } from "../../src/app/system-platform.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { Secret } from "../../src/core/secret.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { sleep } from "../../src/platform/clock.ts";
import { keepLoopbackDirect } from "../../src/platform/environment.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { Kubelets } from "../../src/testing/apiserver/kubelet/kubelets.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { HttpsServer, saveKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import type { Harness } from "../../src/testing/conformance/simulated-cloud.ts";
import { ScriptError } from "../command-line.ts";

const nodeNames = ["node-1", "node-2", "node-3"];
const timeout = seconds(60);
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized";

async function load(folder: string): Promise<Harness> {
  const path = join(folder, "simulator/harness.ts");
  if (!existsSync(path))
    throw new ScriptError(`${path} does not exist. It must export the harness of the tests.`);
  const { harness } = (await import(path)) as { harness?: Harness };
  if (harness?.definition === undefined || typeof harness.simulate !== "function")
    throw new ScriptError(`${path} must export \`harness\`, with a definition and a function simulate.`);
  return harness;
}

/** The files that the provider needs to connect, from the harness. */
function filesOf(
  { inputs, definition }: Harness,
  given: ReadonlyMap<string, string>,
): ReadonlyMap<string, Secret> {
  const provider: AnyProvider = definition;
  const { values } = readConfig(provider, { environment: {}, given });
  const paths = (provider.inputs?.(values) ?? []).flatMap((input) =>
    input.kind === "File" ? input.path : [],
  );
  return new Map(
    paths.flatMap((path) => {
      const content = inputs?.file(path);
      return content === undefined ? [] : [[path, content] as const];
    }),
  );
}

function waitingNodes({ nodes }: Manager): string | undefined {
  const waiting = nodeNames.filter((name) => {
    const node = nodes.get(name);
    return node === undefined || (node.spec.taints ?? []).some(({ key }) => key === uninitialized);
  });
  return waiting.length === 0 ? undefined : `the initialization of ${waiting.join(", ")}`;
}

function waitingRoutes({ nodes }: Manager): string | undefined {
  const waiting = nodeNames.filter(
    (name) => !nodes.get(name)?.status.conditions?.some(({ reason }) => reason === "RouteCreated"),
  );
  return waiting.length === 0 ? undefined : `the routes of ${waiting.join(", ")}`;
}

function addressOf({ services }: Manager): string | undefined {
  const [first] = services.list().flatMap(({ status }) => status.loadBalancer?.ingress ?? []);
  return first?.ip ?? first?.hostname;
}

/** Returns whether everything worked. */
export async function tryProvider(folder: string, write: (text: string) => void): Promise<boolean> {
  keepLoopbackDirect();
  const harness = await load(folder);
  const provider: AnyProvider = harness.definition;
  const system = systemPlatform({});
  const { clock, random, files } = system;
  const simulated = harness.simulate(clock);
  for (const name of nodeNames) simulated.addMachine(name);
  const platform = { ...system, cloudTransport: simulated.transport };
  const server = new ApiServer({ clock, random });
  const authority = createAuthority("fairlead try", clock, random);
  const https = await HttpsServer.start({ server, authority, port: 0, token: random.uuid() });
  const scratch = mkdtempSync(join(tmpdir(), "fairlead-"));
  const kubeconfig = join(scratch, "kubeconfig");
  await saveKubeconfig(https, files, kubeconfig);
  const timing = { readyAfter: milliseconds(100), tick: milliseconds(100) };
  const kubelets = new Kubelets({ server, clock, random, isMachineUp: () => true, timing });
  for (const [index, name] of nodeNames.entries())
    kubelets.join({ name, podCIDRs: [`10.244.${index}.0/24`] });

  const stop = new AbortController();
  const log = createLog({ format: "text", verbosity: 0, clock, write });
  // Simulated clouds show changes immediately: the deletion need not be confirmed half a minute later.
  const args = [`--kubeconfig=${kubeconfig}`, "--cluster-cidr=10.244.0.0/16", "--absence-confirmation=1s"];
  const flags = readFlags(args, { provider });
  const given = new Map(Object.entries(harness.config));
  const settings = { ...flags, cloud: { given, inputFiles: filesOf(harness, given) } };
  const until = async (waitingFor: () => string | undefined): Promise<boolean> => {
    const started = clock.monotonic();
    for (let waits = waitingFor(); waits !== undefined; waits = waitingFor()) {
      if (clock.monotonic() - started > timeout) {
        write(`FAILED: timed out after ${timeout / 1000}s waiting for ${waits}.\n`);
        return false;
      }
      await sleep(clock, milliseconds(50), stop.signal);
    }
    return true;
  };
  const services = resourceNamed("services");
  const web = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default" },
    spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ port: 80, protocol: "TCP" }] },
  };

  let ended: Promise<void> | undefined;
  try {
    let hasRoutes = false;
    const connect: AnyProvider["connect"] = (config, context) => {
      const connected = provider.connect(config, context);
      hasRoutes = connected.routes !== undefined;
      return connected;
    };
    const observed = { ...provider, connect };
    const manager = await createManager({ provider: observed, settings, platform, log }, stop.signal);
    ended = manager.run();
    ended.catch((error) => write(`The manager exited: ${error}\n`));
    if (!(await until(() => waitingNodes(manager)))) return false;
    write(`${nodeNames.length} Nodes are initialized.\n`);
    if (hasRoutes) {
      if (!(await until(() => waitingRoutes(manager)))) return false;
      write("Each Node has a route to its pods.\n");
    }
    if (manager.balancers === undefined) return true;
    server.objects.create(services, "default", web);
    if (
      !(await until(() => (addressOf(manager) === undefined ? "the address of the Service web" : undefined)))
    )
      return false;
    write(`The Service web has the address ${addressOf(manager)}.\n`);
    server.objects.delete(services, "default", "web");
    if (
      !(await until(() =>
        manager.services.list().some(({ metadata }) => metadata.name === "web")
          ? "the deletion of the Service web"
          : undefined,
      ))
    )
      return false;
    write("The Service web and its load balancer are deleted.\n");
    return true;
  } finally {
    stop.abort(new Error("asked to stop"));
    await ended?.catch(() => undefined);
    kubelets.stop();
    await https.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}
