// The environment of a cluster test: an API server, Nodes registered like kubelets do, a simulated cloud over HTTP, and the
// executable. Disposing it stops all processes that it started.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { type ServedCloud, serveFakeCloud } from "../../../providers/fake/simulator/http.ts";
import { uninitializedTaint } from "../../../src/controllers/well-known.ts";
import { defined } from "../../../src/core/defined.ts";
import type { Event, Lease, Node } from "../../../src/kube/objects.ts";
import { events, leases, nodes } from "../../../src/kube/resources.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { OfficialClient, orUndefined } from "../../support/official-client.ts";
import { cleanSlate } from "./clean-slate.ts";
import { type KeptProcess, keepFolder, startProcess } from "./kept-process.ts";
import { kubeletNode, readyCondition } from "./kubelet-objects.ts";
import { sharedKubeconfig, sharedPlanesVariable } from "./shared-plane.ts";
import { type UntilOptions, until } from "./until.ts";

export interface ManagerOptions {
  readonly kubeconfig?: string;
  readonly flags?: readonly string[];
  /** The executable of another cloud, which does not use the simulated cloud of this environment. */
  readonly executable?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each chunk of output, of which only the end is kept. */
  readonly onOutput?: (text: string) => void;
}

export interface Cluster extends AsyncDisposable {
  readonly api: OfficialClient;
  readonly kubeconfig: string;
  readonly cloud: FakeCloud;
  /** Where the simulated cloud is served. */
  readonly endpoint: string;
  readonly leaseName: string;
  readonly folder: string;
  /** Starts the executable, with this cluster's cloud and Lease name. */
  manager(options?: ManagerOptions): KeptProcess;
  /** Registers a Node as a kubelet with an external cloud provider does. */
  join(name: string, changes?: Partial<Node["spec"]>): Promise<Node>;
  node(name: string): Promise<Node | undefined>;
  ready(name: string, isReady: boolean): Promise<void>;
  lease(): Promise<Lease | undefined>;
  eventsOf(name: string): Promise<readonly Event[]>;
  /** Polls; on failure the message includes the end of every manager's log. */
  until: typeof until;
  initialized(name: string): Promise<Node>;
  file(name: string, content: string): string;
}

const required = (name: string, value = process.env[name] ?? ""): string => {
  if (value === "") throw new Error(`${name} is not set. Run the cluster tests with: npm run test:cluster`);
  return value;
};

export const isUninitialized = (node: Node): boolean =>
  (node.spec.taints ?? []).some(({ key }) => key === uninitializedTaint);

/** Opens a cluster without Nodes and Services from earlier tests, and a cloud without machines. */
export const openCluster = async (
  kubeconfig: string = required(sharedPlanesVariable, sharedKubeconfig()),
): Promise<Cluster> => {
  const api = OfficialClient.open(kubeconfig);
  const folder = mkdtempSync(join(tmpdir(), "fairlead-cluster-"));
  keepFolder(folder);
  const cloud = new FakeCloud({ clock: systemClock });
  const served: ServedCloud = serveFakeCloud(cloud, 0);
  const leaseName = `ccm-${crypto.randomUUID().slice(0, 8)}`;
  const managers: KeptProcess[] = [];
  await cleanSlate(api);

  const node = (name: string) => orUndefined(api.get(nodes, { name }));
  const logs = (): string =>
    managers.map((each, index) => `--- manager ${index + 1}\n${each.output().slice(-3000)}`).join("\n");
  const waitFor: typeof until = <T>(
    what: string,
    probe: () => T | undefined | false | Promise<T | undefined | false>,
    options: UntilOptions = {},
  ) => until(what, probe, { explain: logs, ...options });

  return {
    api,
    kubeconfig,
    cloud,
    endpoint: served.url,
    leaseName,
    folder,
    manager: (options = {}) => {
      const {
        kubeconfig: other = kubeconfig,
        flags = [],
        executable: otherCloud,
        env = {},
        onOutput,
      } = options;
      const started = startProcess(
        [
          otherCloud ?? required("FAIRLEAD_TEST_EXECUTABLE"),
          `--kubeconfig=${other}`,
          // Several managers run on one machine, so the port is disabled unless a test sets one.
          ...(flags.some((flag) => flag.startsWith("--secure-port=")) ? [] : ["--secure-port=0"]),
          ...(otherCloud === undefined ? [`--config-set=endpoint=${served.url}`] : []),
          `--leader-elect-resource-name=${leaseName}`,
          ...flags,
        ],
        { cwd: folder, env, ...defined({ onOutput }) },
      );
      managers.push(started);
      return started;
    },
    join: (name, changes = {}) => api.create(nodes, kubeletNode(name, changes)),
    node,
    ready: async (name, isReady) => {
      await api.patch(nodes, { name }, readyCondition(isReady));
    },
    lease: () => orUndefined(api.get(leases, { namespace: "kube-system", name: leaseName })),
    eventsOf: (name) => {
      const selection = { namespace: "default", fieldSelector: `involvedObject.name=${name}` };
      return api.list(events, selection);
    },
    until: waitFor,
    initialized: (name) =>
      waitFor(`node ${name} to be initialized`, async () => {
        const found = await node(name);
        return found !== undefined && !isUninitialized(found) && found;
      }),
    file: (name, content) => {
      const path = join(folder, name);
      writeFileSync(path, content, { mode: 0o600 });
      return path;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(managers.map((each) => each.stop(5)));
      await served[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
