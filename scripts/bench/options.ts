// The command line of `npm run bench`. An invalid command line ends it with 2 and an explanation.

import { fake } from "../clouds/fake.ts";
import type { LocalCloudDefinition } from "../clouds/local-cloud.ts";
import { localClouds } from "../clouds/registry.ts";
import { commandLine, fail, fromCaller, oneNamed, orFail, wholeNumber } from "../command-line.ts";
import type { Load } from "./scrape.ts";
import type { BenchOptions } from "./world.ts";

const usage = `Usage: npm run bench -- <benchmark> [options]

Measures the executable in dist/ (npm run build fake).

  nodes        initialize Nodes that join at once                [--count 1000,5000]
  services     create Services, add a Node, restart, delete all  [--count 200] [--nodes 1000]
  start        time to --version and to the first health check
  idle         memory and cloud calls of an idle manager         [--nodes 0,1000]
  volumes      create and attach volumes, then an idle minute    [--count 0,500]
  scrape       load on /metrics, and its effect on the Lease     [--seconds 60] [--rate 500]
  takeover     many Services on each cloud, and how long the event loop is blocked
                                                                 [--clouds aws,…] [--count 1000] [--nodes 50]
  peers        Nodes and Services, beside the Go managers of fake, hetzner, openstack and aws, alternating; needs go,
               and the executables of these clouds. Services are measured with the smallest number of Nodes
                               [--clouds fake,…] [--nodes 1000,5000] [--count 200] [--runs 3] [--write]
  stall        hostile input, and how long the event loop is blocked
  all          start, idle, nodes, services and scrape at all sizes, as one page
                                                                 [--output FILE] [--write]
  client-node  cost of importing @kubernetes/client-node (decision 0003)

  --runs <n>            how often to run each benchmark (1; peers 3)
  --cloud-latency <ms>  time that the cloud takes to answer (20)
  --action <ms>         time that the cloud takes to create or change a load balancer (0)
  --executable <path>   executable to measure instead of the one in dist/
  --flag=<flag>         flag for the executable, repeatable
  --output <file>       also write the page to a file
  --json <file>         also write each run with all of its figures to a file
  --write               also write the page into docs/benchmarks.md, and the most important figures of peers into README.md

Set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver to measure against a real API server. Without it, the
benchmarks use the test API server, whose times say little about a cluster.
`;

export interface Options {
  readonly what: string;
  readonly common: BenchOptions;
  /** Undefined for the default sizes of the benchmark. */
  readonly counts: readonly number[] | undefined;
  readonly nodes: readonly number[] | undefined;
  /** Undefined for all clouds that the benchmark can measure. */
  readonly clouds: readonly LocalCloudDefinition[] | undefined;
  readonly runs: number;
  readonly load: Load;
  readonly output: string | undefined;
  readonly json: string | undefined;
  readonly write: boolean;
}

function wholeNumbers(name: string, given: string | undefined): readonly number[] | undefined {
  return given?.split(",").map((word) => wholeNumber(name, word));
}

const text = (value: string) => ({ type: "string", default: value }) as const;

export function readOptions(): Options {
  const { positionals, values } = commandLine(
    usage,
    {
      count: { type: "string" },
      nodes: { type: "string" },
      clouds: { type: "string" },
      runs: { type: "string" },
      seconds: text("60"),
      rate: text("500"),
      "cloud-latency": text("20"),
      action: text("0"),
      executable: { type: "string" },
      output: { type: "string" },
      json: { type: "string" },
      write: { type: "boolean", default: false },
      flag: { type: "string", multiple: true, default: [] },
    },
    1,
  );
  const { executable, output, json, write } = values;
  return {
    what: positionals[0] ?? fail("Expected the name of one benchmark.", usage),
    common: {
      cloudLatencyMs: wholeNumber("cloud-latency", values["cloud-latency"]),
      actionMs: wholeNumber("action", values.action),
      flags: values.flag,
      cloud: fake,
      executable: executable === undefined ? undefined : fromCaller(executable),
    },
    counts: wholeNumbers("count", values.count),
    nodes: wholeNumbers("nodes", values.nodes),
    clouds: values.clouds?.split(",").map((name) => orFail(() => oneNamed("cloud", name, localClouds))),
    runs: wholeNumber("runs", values.runs ?? (positionals[0] === "peers" ? "3" : "1")),
    load: { seconds: wholeNumber("seconds", values.seconds), rate: wholeNumber("rate", values.rate) },
    output: output === undefined ? undefined : fromCaller(output),
    json: json === undefined ? undefined : fromCaller(json),
    write,
  };
}
