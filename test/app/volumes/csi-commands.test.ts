// The commands `csi-controller` and `node-volumes`, as the kubelet and the sidecars find them: on real sockets.

import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as socketTo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asTransport } from "#ccm/testing";
import { fake } from "../../../providers/fake/index.ts";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import type { AnyProvider } from "../../../src/app/connect-cloud.ts";
import { runProgram } from "../../../src/app/run.ts";
import { systemPlatform } from "../../../src/app/system-platform.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { csiSchema } from "../../../src/csi/spec.ts";
import { Codec } from "../../../src/grpc/messages.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";

const codec = new Codec(csiSchema);
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function start(
  args: readonly string[],
  options: { readonly provider?: unknown; readonly cloud?: FakeCloud } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "csi-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const cloud = options.cloud ?? new FakeCloud({ clock: systemClock, token: "fake" });
  const lines: string[] = [];
  const serving = Promise.withResolvers<void>();
  const write = (text: string): void => {
    lines.push(text);
    if (text.includes("Serving on")) serving.resolve();
  };
  const stop = new AbortController();
  const socket = join(folder, "csi.sock");
  const platform = { ...systemPlatform({}), random: systemRandom, cloudTransport: asTransport(cloud) };
  const provider = (options.provider ?? fake) as AnyProvider;
  const given = args.map((arg) => arg.replace("SOCKET", socket));
  const exit = runProgram(provider, given, { out: write, err: write }, platform, stop.signal);
  closers.push(async () => {
    stop.abort();
    await exit;
  });
  return { cloud, socket, lines, exit, serving: serving.promise, stop };
}

function call(
  client: ClientHttp2Session,
  path: string,
  message: Uint8Array,
): Promise<readonly [string, Buffer]> {
  return new Promise((resolve, reject) => {
    const stream = client.request({ ":method": "POST", ":path": path, te: "trailers" });
    const chunks: Buffer[] = [];
    let status = "";
    const note = (headers: Readonly<Record<string, unknown>>): void => {
      status = String(headers["grpc-status"] ?? status);
    };
    stream.on("response", note);
    stream.on("trailers", note);
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve([status, Buffer.concat(chunks).subarray(5)]));
    stream.on("error", reject);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([head, message]));
  });
}

const creation = codec.encode("CreateVolumeRequest", {
  name: "pvc-1",
  volumeCapabilities: [{ accessMode: { mode: "SINGLE_NODE_WRITER" }, mount: {} }],
});

describe("csi-controller", () => {
  test("creates a volume in the cloud, and ends when it is stopped", async () => {
    const cloud = new FakeCloud({ clock: systemClock, token: "fake", actionTime: milliseconds(0) });
    const { socket, serving, exit, stop, lines } = start(["csi-controller", "--csi-endpoint=unix://SOCKET"], {
      cloud,
    });
    await serving;
    const client = connect("http://localhost", { createConnection: () => socketTo(socket) });
    closers.push(() => client.destroy());
    const [status, body] = await call(client, "/csi.v1.Controller/CreateVolume", creation);
    expect([status, codec.decode("CreateVolumeResponse", body).volume?.volumeID]).toEqual(["0", "v1"]);
    expect(cloud.volumes.list().map(({ name }) => name)).toEqual(["pvc-1"]);
    stop.abort();
    expect(await exit).toBe(0);
    expect(lines.join("")).not.toContain("failed");
  });

  test("changes nothing with --mode=observe, and says so", async () => {
    const { cloud, socket, serving, lines } = start([
      ...["csi-controller", "--csi-endpoint=SOCKET", "--mode=observe"],
    ]);
    await serving;
    const client = connect("http://localhost", { createConnection: () => socketTo(socket) });
    closers.push(() => client.destroy());
    const [status] = await call(client, "/csi.v1.Controller/CreateVolume", creation);
    expect(status).not.toBe("0");
    expect(cloud.volumes.list()).toEqual([]);
    expect(lines.join("")).toContain("--mode=observe changes nothing.");
  });

  test("refuses an endpoint that is no Unix socket", async () => {
    const { exit, lines } = start(["csi-controller", "--csi-endpoint=tcp://127.0.0.1:1"]);
    expect(await exit).toBe(2);
    expect(lines.join("")).toContain(
      '--csi-endpoint must be a Unix socket with at most 107 characters, such as unix:///run/csi/socket, got "tcp://127.0.0.1:1". Set it, or the variable CSI_ENDPOINT.',
    );
  });

  test("refuses a cloud without volumes", async () => {
    const { volumeDriver: _, ...provider } = fake;
    const { exit, lines } = start(["csi-controller", "--csi-endpoint=SOCKET"], { provider });
    expect(await exit).toBe(2);
    expect(lines.join("")).toContain("The provider fake has no volumes, so there is nothing to serve.");
  });
});

describe("node-volumes", () => {
  test("requires the name of its Node", async () => {
    const { exit, lines } = start(["node-volumes", "--csi-endpoint=SOCKET"]);
    expect(await exit).toBe(2);
    expect(lines.join("")).toContain("--node-name is required: the name of the Node of this machine.");
  });
});
