// Sends the manager data that a hostile tenant or client could send, and measures how long its event loop is blocked: the slowest
// response of /healthz, which is computed from memory, and the longest time between two renewals of the Lease.

import { endpointSlices, leases, nodes, services } from "../../src/kube/resources.ts";
import { freePort } from "../../test/cluster/rig/free-port.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { type LoopPauses, LoopProbe } from "./loop-probe.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

export interface StallRun extends LoopPauses {
  readonly server: string;
  readonly input: string;
  /** The renewal interval is two seconds. */
  readonly maxRenewalSeconds: number;
}

const columns: Columns<StallRun> = [
  ["Input", ({ input }) => input],
  ["Answers of /healthz", ({ answers }) => String(answers)],
  ["p99 ms", ({ p99Ms }) => decimal(p99Ms, 0)],
  ["Max ms", ({ worstMs }) => decimal(worstMs, 0)],
  ["Max ms on a processor", ({ worstRunMs }) => decimal(worstRunMs, 0)],
  ["Longest time between Lease renewals s", (run) => decimal(run.maxRenewalSeconds, 2)],
];

/** Fills the 256 KiB that the API server accepts. */
function annotations(keyOf: (index: number) => string, value: string): Record<string, string> {
  const found: Record<string, string> = {};
  let size = 0;
  for (let index = 0; size < 250_000; index++) {
    const key = keyOf(index);
    found[key] = value;
    size += key.length + value.length;
  }
  return found;
}

interface HostileService {
  readonly annotations?: Record<string, string>;
  readonly spec?: object;
}

interface Attack {
  readonly input: string;
  readonly services?: (index: number) => HostileService;
  readonly begin?: (target: Target) => Promise<void>;
}

interface Target {
  readonly bench: Bench;
  readonly webhook: string;
}

const inParallel = async (count: number, run: (index: number) => Promise<unknown>): Promise<void> => {
  await Promise.allSettled(Array.from({ length: count }, (_, index) => run(index)));
};

const post = (url: string, body: string): Promise<unknown> =>
  fetch(url, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
    tls: { rejectUnauthorized: false },
  }).then((answer) => answer.text());

const flood =
  (body: () => string): NonNullable<Attack["begin"]> =>
  async ({ webhook }) => {
    const text = body();
    for (let round = 0; round < 20; round++) await inParallel(16, () => post(webhook, text));
  };

const review = (object: object): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "1", operation: "CREATE", object },
  });

const misspelt = (index: number): string => `balancer.fake.example/health-chek-intervl-${index}`;
const manyKeys = (bytes: number): string =>
  `{${Array.from({ length: bytes / 9 }, (_, index) => `"${index.toString(36)}":0`).join()}}`;

export const attacks: readonly Attack[] = [
  { input: "nothing" },
  {
    input: "25 Services with 250 KB of misspelt annotations",
    services: () => ({ annotations: annotations(misspelt, "") }),
  },
  {
    input: "25 Services with 250 KB of annotations with a misspelt prefix",
    services: () => ({ annotations: annotations((index) => `balancer.fake.exmaple/${index}-algorithm`, "") }),
  },
  {
    input: "25 Services with selectors that cannot be matched",
    services: () => ({
      annotations: {
        "fairlead.dev/target-selector": `pool in (${",   ".repeat(50_000)}!)`,
        "fairlead.dev/target-drain": "1".repeat(20_000),
        "fairlead.dev/target-limit": "1".repeat(20_000),
      },
    }),
  },
  {
    input: "25 Services with 40,000 invalid source ranges",
    services: () => ({
      annotations: { "service.beta.kubernetes.io/load-balancer-source-ranges": "x1234,".repeat(40_000) },
    }),
  },
  {
    input: "25 Services with 5,000 source ranges",
    services: () => ({
      spec: {
        loadBalancerSourceRanges: Array.from(
          { length: 5000 },
          (_, index) => `10.${index >> 8}.${index & 255}.0/24`,
        ),
      },
    }),
  },
  {
    input: "25 Services with 2,000 ports",
    services: () => ({
      spec: {
        allocateLoadBalancerNodePorts: false,
        ports: Array.from({ length: 2000 }, (_, index) => ({
          name: `p${index}`,
          port: index + 1,
          protocol: "TCP",
        })),
      },
    }),
  },
  {
    input: "100,000 endpoints of one Service",
    services: () => ({ annotations: { "fairlead.dev/target-policy": "endpoints" } }),
    begin: async ({ bench }) => {
      await inParallel(100, (slice) =>
        bench.api.create(
          endpointSlices,
          {
            metadata: {
              name: `hostile-${slice}`,
              namespace: "default",
              labels: { "kubernetes.io/service-name": "hostile-0" },
            },
            ...({ addressType: "IPv4" } as object),
            endpoints: Array.from({ length: 1000 }, (_, index) => ({
              addresses: ["10.0.0.1"],
              nodeName: `node-${index}`,
            })),
          },
          never,
        ),
      );
    },
  },
  {
    input: "25 Nodes with 250 KB of misspelt annotations",
    begin: async ({ bench }) =>
      inParallel(25, (index) =>
        bench.api.create(
          nodes,
          {
            metadata: {
              name: `hostile-${index}`,
              annotations: annotations((one) => `fairlead.dev/pausd-${one}`, ""),
            },
            spec: { taints: [] },
            status: {},
          },
          never,
        ),
      ),
  },
  { input: "320 reviews of 3.9 MB", begin: flood(() => review({ x: "x".repeat(3_900_000) })) },
  { input: "320 reviews of 1 MB with 115,000 keys", begin: flood(() => manyKeys(1_000_000)) },
  {
    input: "320 reviews of 1 MB, 500,000 levels deep",
    begin: flood(() => `${"[".repeat(500_000)}${"]".repeat(500_000)}`),
  },
  {
    input: "320 reviews of a Service with 500 KB of misspelt annotations",
    begin: flood(() =>
      review({
        metadata: {
          name: "x",
          namespace: "default",
          annotations: {
            ...annotations(misspelt, ""),
            ...annotations((index) => misspelt(index + 10_000), ""),
          },
        },
        spec: { type: "LoadBalancer" },
      }),
    ),
  },
];

const lease = { namespace: "kube-system", name: "cloud-controller-manager" };

export async function measureStall(options: BenchOptions, attack: Attack): Promise<StallRun> {
  await using bench = await Bench.open(options);
  const [port, webhookPort] = [freePort(), freePort()];
  const manager = bench.start(
    ...[`--secure-port=${port}`, "--bind-address=127.0.0.1", "--webhooks=*"],
    ...[`--webhook-secure-port=${webhookPort}`, "--webhook-bind-address=127.0.0.1"],
  );
  const renewedAt = async (): Promise<string> =>
    (await bench.api.get(leases, lease, never)).spec?.renewTime ?? "";
  await untilDone(manager, "it led", async () => (await renewedAt()) !== "");
  const webhook = `https://127.0.0.1:${webhookPort}/service-webhook`;
  const renewals = new Set<string>();
  let isOver = false;
  const watchLease = async (): Promise<void> => {
    while (!isOver) {
      renewals.add(await renewedAt());
      await Bun.sleep(200);
    }
  };
  const probe = new LoopProbe(manager, port);
  const runAttack = async (): Promise<void> => {
    await Bun.sleep(2000);
    const { services: hostile, begin } = attack;
    for (let index = 0; hostile !== undefined && index < 25; index++) {
      const { annotations: given = {}, spec = {} } = hostile(index);
      const metadata = { name: `hostile-${index}`, namespace: "default", annotations: given };
      const draft = {
        metadata,
        spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30_080 + index }], ...spec },
        status: {},
      };
      await bench.api.create(services, draft as never, never);
    }
    await begin?.({ bench, webhook });
    await Bun.sleep(6000);
  };
  const attacked = () =>
    runAttack().finally(() => {
      isOver = true;
    });
  await Promise.all([watchLease(), attacked()]);
  const pauses = await probe.stop();
  if (manager.exitCode() !== null) throw new Error(`The manager exited.\n${manager.output().slice(-3000)}`);
  const times = [...renewals].map((text) => Date.parse(text)).toSorted((a, b) => a - b);
  const gaps = times.slice(1).map((at, index) => (at - (times[index] ?? at)) / 1000);
  return {
    server: bench.serverName,
    input: attack.input,
    ...pauses,
    maxRenewalSeconds: Math.max(...gaps),
  };
}

export function stallSection(runs: readonly StallRun[]): Section {
  return sectionOf("Hostile input, and how long the event loop is blocked", columns, runs);
}
