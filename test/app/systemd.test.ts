import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withServiceCredentials } from "../../src/app/configuration/service-credentials.ts";
import { createSystemd, watchdogPeriod } from "../../src/app/systemd.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { secret, text } from "../../src/core/fields.ts";
import { openNotifySocket } from "../../src/platform/notify-socket.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { openDatagramSocket } from "../support/datagram-socket.ts";

const recordMessages = (watchdog?: number) => {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const send = (message: string) => sent.push(message) > 0;
  const service = createSystemd(
    { send, monotonic: () => 42n },
    { clock, watchdog: watchdog === undefined ? undefined : milliseconds(watchdog) },
  );
  return { clock, sent, service };
};

describe("systemd notifications", () => {
  test("notifies systemd of readiness, status, both ends of a reload, and the stop [N16]", () => {
    const { sent, service } = recordMessages();
    service.ready();
    service.status("leads\nREADY=0");
    service.reloading();
    service.stopping();
    expect(sent).toEqual([
      "READY=1",
      "STATUS=leads READY=0",
      "RELOADING=1\nMONOTONIC_USEC=42",
      "STOPPING=1\nSTATUS=Draining in-flight work",
    ]);
  });

  test("feeds the systemd watchdog while the process is healthy, and sends the reason while it is stalled [N16]", async () => {
    const { clock, sent, service } = recordMessages(5000);
    let why: string | undefined;
    const stop = new AbortController();
    service.watch(() => why, stop.signal);
    await clock.advance(seconds(11));
    expect(sent).toEqual(["WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]);
    why = "the watch of the Lease stands still";
    await clock.advance(seconds(10));
    expect(sent.slice(3)).toEqual(Array(2).fill("STATUS=Unhealthy: the watch of the Lease stands still"));
    why = undefined;
    await clock.advance(seconds(5));
    expect(sent.at(-1)).toBe("WATCHDOG=1");
    stop.abort();
    await clock.advance(seconds(60));
    expect([sent.length, clock.pending]).toEqual([6, 0]);
  });

  test.each([
    [{ WATCHDOG_USEC: "30000000" }, 15_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "7" }, 15_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "8" }, undefined],
    [{}, undefined],
    [{ WATCHDOG_USEC: "soon" }, undefined],
  ])("watchdogPeriod for %j in process 7 is %p ms", (environment, period) => {
    expect(watchdogPeriod(environment, 7) as number | undefined).toBe(period);
  });
});

describe("notify socket", () => {
  const folder = join(tmpdir(), `fairlead-notify-${process.pid}`);
  beforeAll(() => mkdirSync(folder));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const onLinux = test.skipIf(process.platform !== "linux");

  for (const path of [join(folder, "notify"), `@fairlead-test-${process.pid}`]) {
    onLinux(
      `the notify socket delivers messages whole and in order at ${path[0] === "@" ? "an abstract name" : "a path"} [N16]`,
      () => {
        using listener = openDatagramSocket(path);
        const socket = openNotifySocket(path);
        expect([socket?.send("READY=1"), socket?.send("STATUS=leads\nX=ä")]).toEqual([true, true]);
        expect(listener.read()).toEqual(["READY=1", "STATUS=leads\nX=ä"]);
      },
    );
  }

  test.each(["nowhere", "vsock:2:1", "/".padEnd(120, "x")])(
    "the notify socket does not open at the unusable path %s",
    (path) => {
      expect(openNotifySocket(path)).toBeUndefined();
    },
  );

  test.skipIf(process.platform !== "linux")(
    "a message to a notify socket that nothing reads is lost without an error",
    () => {
      const socket = openNotifySocket(join(folder, "gone"));
      expect(socket?.send("READY=1")).toBe(false);
      expect(socket?.monotonic()).toBeGreaterThan(0n);
    },
  );
});

describe("systemd credentials", () => {
  const config = {
    token: secret("Token.", { env: "CLOUD_TOKEN" }),
    endpoint: text("Address.", { env: "CLOUD_ENDPOINT" }),
    size: text("Without a variable."),
  };
  const withFiles = (
    content: Readonly<Record<string, string>>,
    environment: Readonly<Record<string, string>>,
  ) => ({
    environment,
    files: {
      read: async (path: string) => {
        const found = content[path];
        if (found === undefined) throw Object.assign(new Error("none"), { code: "ENOENT" });
        return found;
      },
      version: async (path: string) => (path in content ? "1" : undefined),
    },
  });
  const folder = { CREDENTIALS_DIRECTORY: "/run/credentials/x" };

  test("systemd credentials provide the kubeconfig and cloud settings by name [N16]", async () => {
    const content = {
      "/run/credentials/x/CLOUD_TOKEN": "hunter2\n",
      "/run/credentials/x/endpoint": "https://cloud",
      "/run/credentials/x/kubeconfig": "…",
    };
    const found = await withServiceCredentials(config, withFiles(content, folder), ["--v=2"]);
    expect(found.args).toEqual(["--kubeconfig=/run/credentials/x/kubeconfig", "--v=2"]);
    expect(found.environment).toEqual({ ...folder, CLOUD_TOKEN: "hunter2", CLOUD_ENDPOINT: "https://cloud" });
  });

  test("systemd credentials yield to flags and environment variables [N16]", async () => {
    const content = { "/run/credentials/x/CLOUD_TOKEN": "file", "/run/credentials/x/kubeconfig": "…" };
    const environment = { ...folder, CLOUD_TOKEN: "variable" };
    for (const args of [["--kubeconfig", "/k"], ["--kubeconfig=/k"], ["--master=https://m"]]) {
      expect(await withServiceCredentials(config, withFiles(content, environment), args)).toEqual({
        environment,
        args,
      });
    }
  });

  test("reads no systemd credentials without systemd", async () => {
    const environment = { CLOUD_TOKEN: "x" };
    expect(await withServiceCredentials(config, withFiles({}, environment), [])).toEqual({
      environment,
      args: [],
    });
  });
});
