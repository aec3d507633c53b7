// Runs one command of the executable against the API server and the cloud of a `ServiceWorld`, in its virtual time.

import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
// Loaded here, so that virtual time does not pass while a command loads its code.
import "../../src/inspect/cleanup/cleanup-text.ts";
import "../../src/inspect/cleanup/delete-leftovers.ts";
import "../../src/inspect/cleanup/marks.ts";
import "../../src/inspect/doctor/diagnose.ts";
import "../../src/inspect/doctor/gather.ts";
import "../../src/inspect/explain/describe-object.ts";
import "../../src/inspect/explain/explain-request.ts";
import "../../src/inspect/explain/find-answer.ts";
import "../../src/inspect/explain/explain-text.ts";
import "../../src/inspect/lint/lint-files.ts";
import "../../src/inspect/observe-once.ts";
import "../../src/inspect/plan-answer.ts";
import "../../src/inspect/support/collect.ts";
import "../../src/inspect/support/bundle-redaction.ts";
import "../../src/inspect/support/tar.ts";
import { runProgram } from "../../src/app/run.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import type { ServiceWorld } from "./service-world.ts";

export interface CommandOptions {
  readonly provider?: unknown;
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly invokedAs?: string;
  readonly stdin?: string;
  /** The input of the person at the terminal. If absent, there is no terminal. */
  readonly typed?: () => string | Promise<string>;
  /** Replaces the fake cloud of the world. */
  readonly cloud?: Transport;
  /** Answers requests to other hosts; undefined sends them to the API server. */
  readonly others?: (request: TransportRequest) => Response | undefined;
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Every request to the API server, as method and path with query. */
  readonly kube: readonly string[];
  /** Every request that reached the cloud, as method and path. */
  readonly cloud: readonly string[];
  /** Files that the command wrote as bytes. */
  readonly written: MemoryFiles["written"];
}

export async function runCommandIn(
  w: ServiceWorld,
  args: readonly string[],
  {
    provider = fake,
    environment = {},
    files = {},
    invokedAs = "",
    stdin = "",
    typed,
    ...given
  }: CommandOptions = {},
): Promise<CommandResult> {
  let out = "";
  let err = "";
  const kube: string[] = [];
  const cloud: string[] = [];
  const toServer = asTransport(w.server);
  const toCloud = given.cloud ?? cloudTransport(w.cloud);
  const transport: Transport = async (request, signal) => {
    const other = given.others?.(request);
    if (other !== undefined) return other;
    const { pathname, search } = new URL(request.url);
    kube.push(`${request.method} ${pathname}${search}`);
    return toServer(request, signal);
  };
  const disk = new MemoryFiles(files);
  const platform = {
    clock: w.clock,
    random: seededRandom(11),
    files: disk.files,
    transport,
    cloudTransport: (async (request, signal) => {
      cloud.push(`${request.method} ${new URL(request.url).pathname}`);
      return toCloud(request, signal);
    }) satisfies Transport,
    environment: { HOSTNAME: "operator", ...environment },
  };
  const console = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
    invokedAs,
    stdin: async () => stdin,
    ...(typed !== undefined && { readLine: async () => typed() }),
  };
  let code: number | undefined;
  const done = runProgram(
    provider as AnyProvider,
    args,
    console,
    platform,
    new AbortController().signal,
  ).then((ended) => {
    code = ended;
  });
  const end = performance.now() + 300_000;
  while (code === undefined) {
    // Code that a command loads when it runs takes real time.
    await new Promise((resolve) => setImmediate(resolve));
    await w.clock.advance(milliseconds(50));
    if (performance.now() > end) throw new Error(`${args.join(" ")} does not end: ${err}`);
  }
  await done;
  return { code: code ?? -1, out, err, kube, cloud, written: disk.written };
}
