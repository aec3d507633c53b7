// The commands `csi-controller` and `node-volumes`, as the kubelet and the sidecars use them, with real sockets.

import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as socketTo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asTransport } from "#ccm/testing";
import { fake } from "../../../providers/fake/index.ts";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { ReloadRequests } from "../../../src/app/configuration/reload-requests.ts";
import { runProgram } from "../../../src/app/run.ts";
import { systemPlatform } from "../../../src/app/system-platform.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport as asKubeTransport } from "../../../src/testing/apiserver/as-transport.ts";
import { csiSchema } from "../../../src/volumes/csi/spec.ts";
import { Codec } from "../../../src/volumes/grpc/messages.ts";

const codec = new Codec(csiSchema);
/** No test waits for an interval. Request deadlines remain, because the machine may be busy. */
const shortestDeadline = seconds(5);
const hurried: Clock = {
  ...systemClock,
  after: (delay, callback) =>
    systemClock.after(delay < shortestDeadline ? milliseconds(Math.min(delay, 20)) : delay, callback),
};
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function start(
  args: readonly string[],
  options: {
    readonly provider?: unknown;
    readonly cloud?: FakeCloud;
    readonly kube?: Transport;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "csi-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const cloud = options.cloud ?? new FakeCloud({ clock: systemClock, token: "fake" });
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  const write = (text: string): void => {
    lines.push(text);
    for (const check of waiting) check();
  };
  /** Resolves when the log contains the text. */
  const until = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (lines.join("").includes(text)) resolve();
      };
      waiting.push(check);
      check();
    });
  const stop = new AbortController();
  const socket = join(folder, "csi.sock");
  const platform = {
    ...systemPlatform({}),
    clock: hurried,
    random: systemRandom,
    cloudTransport: asTransport(cloud),
    ...(options.kube && { transport: options.kube }),
    ...(options.environment && { environment: options.environment }),
  };
  const provider = (options.provider ?? fake) as AnyProvider;
  const given = args.map((arg) => arg.replace("SOCKET", socket).replace("FOLDER", folder));
  const reloads = new ReloadRequests();
  const exit = runProgram(provider, given, { out: write, err: write, reloads }, platform, stop.signal);
  closers.push(async () => {
    stop.abort();
    await exit;
  });
  return { cloud, socket, lines, exit, serving: until("Serving on"), until, stop, reloads, folder };
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
  test("csi-controller creates a volume in the cloud, and ends when it is stopped", async () => {
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

  test("csi-controller changes nothing with --mode=observe, and logs the mode", async () => {
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

  test("serves its health and the metrics of upstream's drivers, and is unhealthy without its socket", async () => {
    const { socket, serving, until, lines } = start([
      ...["csi-controller", "--csi-endpoint=SOCKET", "--http-endpoint=127.0.0.1:0"],
    ]);
    await serving;
    await until("Serving /healthz");
    const [, address = ""] = /Serving \/healthz, .* on (\S+?)"?\n/.exec(lines.join("")) ?? [];
    const page = async (path: string): Promise<readonly [number, string]> => {
      const answer = await fetch(`http://${address}${path}`);
      return [answer.status, await answer.text()];
    };
    const client = connect("http://localhost", { createConnection: () => socketTo(socket) });
    closers.push(() => client.destroy());
    await call(client, "/csi.v1.Identity/Probe", new Uint8Array());
    await call(client, "/csi.v1.Controller/DeleteVolume", new Uint8Array());
    expect([await page("/healthz"), await page("/readyz")]).toEqual([
      [200, "ok"],
      [200, "ok"],
    ]);
    const [, metrics] = await page("/metrics");
    const series = (method: string, code: string) =>
      `csi_plugin_operations_seconds_count{driver_name="csi.fake.example",method_name="/csi.v1.${method}",grpc_status_code="${code}"} 1`;
    expect(metrics).toContain(series("Identity/Probe", "OK"));
    expect(metrics).toContain(series("Controller/DeleteVolume", "InvalidArgument"));
    expect((await page("/secrets"))[0]).toBe(404);
    rmSync(socket);
    expect(await page("/healthz")).toEqual([
      500,
      `The socket ${socket} was removed, so no client can connect. Start this process again.\n`,
    ]);
  });

  test("uses changed credentials from the next call, without a restart", async () => {
    const cloud = new FakeCloud({ clock: systemClock, token: "new", actionTime: milliseconds(0) });
    const config = join(mkdtempSync(join(tmpdir(), "csi-config-")), "configuration.yaml");
    closers.push(() => rmSync(join(config, ".."), { recursive: true, force: true }));
    const write = (token: string): void =>
      writeFileSync(
        config,
        `apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\ncloud:\n  token: ${token}\n`,
      );
    write("old");
    const { socket, serving, until, reloads } = start(
      ["csi-controller", "--csi-endpoint=SOCKET", `--config=${config}`],
      { cloud },
    );
    await serving;
    const client = connect("http://localhost", { createConnection: () => socketTo(socket) });
    closers.push(() => client.destroy());
    const create = () => call(client, "/csi.v1.Controller/CreateVolume", creation);
    // Not UNAUTHENTICATED: an earlier creation may have succeeded, so sidecars must repeat it.
    expect((await create())[0]).toBe("14");
    write("new");
    reloads.request();
    await until("Applied the changed configuration");
    expect((await create())[0]).toBe("0");
  });

  test.each(["9808", "127.0.0.1", "127.0.0.1:99999", "::1:9808"])(
    "rejects --http-endpoint=%s",
    async (given) => {
      const { exit, lines } = start(["csi-controller", "--csi-endpoint=SOCKET", `--http-endpoint=${given}`]);
      expect(await exit).toBe(2);
      expect(lines.join("")).toContain(
        `--http-endpoint must be an address with a port, such as 127.0.0.1:9808 or :9808, got "${given}".`,
      );
    },
  );

  test("rejects an endpoint that is not a Unix socket", async () => {
    const { exit, lines } = start(["csi-controller", "--csi-endpoint=tcp://127.0.0.1:1"]);
    expect(await exit).toBe(2);
    expect(lines.join("")).toContain(
      '--csi-endpoint must be a Unix socket with at most 107 characters, such as unix:///run/csi/socket, got "tcp://127.0.0.1:1". Set it, or the variable CSI_ENDPOINT.',
    );
  });

  test("rejects a cloud without volumes", async () => {
    const { volumeDriver: _, ...provider } = fake;
    const { exit, lines } = start(["csi-controller", "--csi-endpoint=SOCKET"], { provider });
    expect(await exit).toBe(2);
    expect(lines.join("")).toContain("The provider fake has no volumes, so there is nothing to serve.");
  });
});

describe("node-volumes", () => {
  test("node-volumes gets its identity from an initialized Node, and registers with the kubelet", async () => {
    const api = new ApiServer({ clock: systemClock, random: systemRandom });
    const kube = asKubeTransport(api);
    const labels = { "topology.kubernetes.io/zone": "zone-1" };
    const send = async (method: string, path: string, body: object): Promise<void> => {
      const headers = {
        "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
      };
      const url = `http://test-api-server/api/v1/nodes${path}`;
      const answer = await kube(
        { method, url, headers, body: JSON.stringify(body) },
        new AbortController().signal,
      );
      expect(answer.ok).toBe(true);
    };
    await send("POST", "", { apiVersion: "v1", kind: "Node", metadata: { name: "node-1", labels } });
    const { socket, lines, until } = start(
      [
        ...[
          "node-volumes",
          "--csi-endpoint=SOCKET",
          "--node-name=node-1",
          "--plugin-registration-path=FOLDER",
        ],
        ...["--kubelet-registration-path=/plugins/csi.sock", "--master=http://test-api-server"],
        "--http-endpoint=127.0.0.1:0",
      ],
      { kube },
    );
    await until("Waiting for Node node-1: it has no provider id yet.");
    const [, address = ""] = /Serving \/healthz, .* on (\S+?)"?\n/.exec(lines.join("")) ?? [];
    const ready = async () => (await fetch(`http://${address}/readyz`)).text();
    expect((await fetch(`http://${address}/healthz`)).status).toBe(200);
    expect(await ready()).toBe("Waiting until the manager has initialized the Node.\n");
    await send("PATCH", "/node-1", { spec: { providerID: "fake://7" } });
    await until("csi.fake.example-reg.sock");
    await until("csi.sock");
    const client = connect("http://localhost", { createConnection: () => socketTo(socket) });
    const registry = socket.replace("csi.sock", "csi.fake.example-reg.sock");
    const kubelet = connect("http://localhost", { createConnection: () => socketTo(registry) });
    closers.push(
      () => client.destroy(),
      () => kubelet.destroy(),
    );
    const [status, body] = await call(client, "/csi.v1.Node/NodeGetInfo", new Uint8Array());
    expect([status, codec.decode("NodeGetInfoResponse", body)]).toEqual([
      "0",
      {
        nodeID: "7",
        maxVolumesPerNode: 8,
        accessibleTopology: { segments: { "topology.fake.example/zone": "zone-1" } },
      },
    ]);
    const [, info] = await call(kubelet, "/pluginregistration.Registration/GetInfo", new Uint8Array());
    expect(info.toString("latin1")).toContain("csi.fake.example\x1a\x11/plugins/csi.sock");
    expect(await ready()).toBe("Waiting until the kubelet registers the plugin.\n");
    const registered = Buffer.from("0801", "hex");
    await call(kubelet, "/pluginregistration.Registration/NotifyRegistrationStatus", registered);
    expect(lines.join("")).toContain("The kubelet has registered csi.fake.example");
    expect(await ready()).toBe("ok");
  });

  test("node-volumes requires the name of its Node", async () => {
    const { exit, lines } = start(["node-volumes", "--csi-endpoint=SOCKET"]);
    expect(await exit).toBe(2);
    expect(lines.join("")).toContain("--node-name is required: the name of this machine's Node.");
  });
});
