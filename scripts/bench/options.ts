// The command line of the bench, read strictly. Wrong words end the process with 2 and the usage.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Load } from "./scrape.ts";
import type { BenchOptions } from "./world.ts";

const usage = `Usage: npm run bench -- <what> [options]

  nodes      Nodes that join at once                              [--count 1000,5000]
  services   Services made, one Node more, a restart, all deleted [--count 200] [--nodes 1000]
  start      time to the version, and to the first health check
  idle       memory and calls of a manager with nothing to do     [--nodes 0,1000]
  scrape     a load on /metrics, and the Lease meanwhile          [--seconds 60] [--rate 500]
  all        everything above at every size, as one page          [--output FILE] [--write]

  client-node  what an executable would pay for importing @kubernetes/client-node (decision 0003)

  --runs <n>            how often (1)
  --cloud-latency <ms>  how long the cloud takes to answer (20)
  --action <ms>         how long it takes to make or change a balancer (0)
  --executable <path>   another one than that in dist/
  --flag=<flag>         a flag for it; may be given several times
  --output <file>       all: where the page goes, too
  --write               all: puts the page into docs/benchmarks.md

The API server is a real one when KUBEBUILDER_ASSETS names the folder of etcd and kube-apiserver, else the sandbox, which
says little about a cluster.`;

export function refuse(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

export interface Order {
  readonly what: string;
  readonly common: BenchOptions;
  /** Undefined where the measure has its own. */
  readonly counts: readonly number[] | undefined;
  readonly nodes: readonly number[] | undefined;
  readonly runs: number;
  readonly load: Load;
  readonly output: string | undefined;
  readonly write: boolean;
}

function read() {
  return parseArgs({
    allowPositionals: true,
    options: {
      count: { type: "string" },
      nodes: { type: "string" },
      runs: { type: "string", default: "1" },
      seconds: { type: "string", default: "60" },
      rate: { type: "string", default: "500" },
      "cloud-latency": { type: "string", default: "20" },
      action: { type: "string", default: "0" },
      executable: { type: "string" },
      output: { type: "string" },
      write: { type: "boolean", default: false },
      flag: { type: "string", multiple: true, default: [] },
      help: { type: "boolean", default: false },
    },
  });
}

function whole(name: string, given: string): number {
  const number = Number(given);
  return given !== "" && Number.isSafeInteger(number) && number >= 0
    ? number
    : refuse(`--${name} must be a whole number, got "${given}".`);
}

function wholes(name: string, given: string | undefined): readonly number[] | undefined {
  return given?.split(",").map((word) => whole(name, word));
}

function readOrRefuse(): ReturnType<typeof read> {
  try {
    return read();
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : error}\n\n${usage}`);
  }
}

/** npm moves into the repository and says where it was called. */
const fromWhereCalled = (path: string): string => resolve(process.env["INIT_CWD"] ?? process.cwd(), path);

export function readOrder(): Order {
  const { positionals, values } = readOrRefuse();
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  const [what, ...more] = positionals;
  if (what === undefined || more.length > 0) return refuse(usage);
  return {
    what,
    common: {
      cloudLatencyMs: whole("cloud-latency", values["cloud-latency"]),
      actionMs: whole("action", values.action),
      flags: values.flag,
      executable: values.executable === undefined ? undefined : fromWhereCalled(values.executable),
    },
    counts: wholes("count", values.count),
    nodes: wholes("nodes", values.nodes),
    runs: whole("runs", values.runs),
    load: { seconds: whole("seconds", values.seconds), rate: whole("rate", values.rate) },
    output: values.output === undefined ? undefined : fromWhereCalled(values.output),
    write: values.write,
  };
}

export const refuseWord = (what: string): never => refuse(`${what} is not a measure.\n\n${usage}`);
