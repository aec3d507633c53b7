// Registration with the kubelet, in the messages of its API.

import { expect, test } from "bun:test";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { addRegistration } from "../../../src/volumes/csi/registration.ts";
import { RpcServer } from "../../../src/volumes/grpc/rpc-server.ts";

test("shows the kubelet name, endpoint and version, and reports its response", async () => {
  const statuses: (string | undefined)[] = [];
  const server = new RpcServer({
    clock: new VirtualClock(),
    report: () => undefined,
    redact: (text) => text,
  });
  addRegistration(server, { name: "csi.x", endpoint: "/s", onStatus: (error) => statuses.push(error) });
  const call = async (method: string, message: string) => {
    const bytes = Buffer.from(message, "hex");
    const head = Buffer.from([0, 0, 0, 0, bytes.length]);
    const { body, trailers } = await server.handle({
      method: "POST",
      path: `/pluginregistration.Registration/${method}`,
      headers: {},
      body: async () => Buffer.concat([head, bytes]),
      cancelled: new AbortController().signal,
    });
    return [
      trailers["grpc-status"],
      Buffer.from(body ?? [])
        .subarray(5)
        .toString("latin1"),
    ];
  };
  expect(await call("GetInfo", "")).toEqual(["0", '\n\tCSIPlugin\x12\x05csi.x\x1a\x02/s"\x051.0.0']);
  // plugin_registered, then error "no".
  expect(await call("NotifyRegistrationStatus", "0801")).toEqual(["0", ""]);
  expect(await call("NotifyRegistrationStatus", "12026e6f")).toEqual(["0", ""]);
  expect(statuses).toEqual([undefined, "no"]);
});
