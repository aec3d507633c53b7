import { afterEach, describe, expect, test } from "bun:test";
import { linkSync, mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as socketTo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { listenOnSocket, type StreamRequest } from "../../../src/platform/http2-socket.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { csiSchema, csiServices } from "../../../src/volumes/csi/spec.ts";
import { Codec } from "../../../src/volumes/grpc/messages.ts";
import { type Handlers, type RpcReport, RpcServer } from "../../../src/volumes/grpc/rpc-server.ts";
import { encodeStatusMessage, RpcError, timeoutOf } from "../../../src/volumes/grpc/status.ts";

const codec = new Codec(csiSchema);
type Controller = Handlers<typeof csiSchema, typeof csiServices.Controller>;

function frame(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function serverOf(handlers: Controller, clock = new VirtualClock()) {
  const reports: RpcReport[] = [];
  const server = new RpcServer({
    clock,
    report: (report) => reports.push(report),
    redact: (text) => text.replaceAll("hunter2", "[secret]"),
  });
  server.add("csi.v1.Controller", csiSchema, csiServices.Controller, handlers);
  return { server, reports, clock };
}

const post = (
  body: Uint8Array | undefined,
  headers: Readonly<Record<string, string>> = {},
): StreamRequest => ({
  method: "POST",
  path: "/csi.v1.Controller/DeleteVolume",
  headers,
  body: async () => body,
  cancelled: new AbortController().signal,
});
const deletion = (volumeID: string): Buffer => frame(codec.encode("DeleteVolumeRequest", { volumeID }));

describe("the gRPC server", () => {
  test("the gRPC server responds with the message of the handler", async () => {
    const seen: string[] = [];
    const { server, reports } = serverOf({
      DeleteVolume: ({ volumeID }) => {
        seen.push(volumeID);
        return {};
      },
    });
    const { body, trailers } = await server.handle(post(deletion("7")));
    expect([seen, Buffer.from(body ?? []).toString("hex"), trailers]).toEqual([
      ["7"],
      "0000000000",
      { "grpc-status": "0" },
    ]);
    expect(reports).toEqual([
      { method: "/csi.v1.Controller/DeleteVolume", code: "OK", message: "", milliseconds: 0 },
    ]);
  });

  test("the gRPC server sends and reports the status of an RpcError without secrets", async () => {
    const { server, reports } = serverOf({
      DeleteVolume: () => {
        throw new RpcError("FAILED_PRECONDITION", "Volume 7 is attached 100% (hunter2).");
      },
    });
    const { body, trailers } = await server.handle(post(deletion("7")));
    expect([body, trailers]).toEqual([
      undefined,
      { "grpc-status": "9", "grpc-message": "Volume 7 is attached 100%25 ([secret])." },
    ]);
    expect(reports.map(({ code, message }) => [code, message])).toEqual([
      ["FAILED_PRECONDITION", "Volume 7 is attached 100% ([secret])."],
    ]);
  });

  test("the gRPC server cancels the handler at the deadline of the client", async () => {
    let reason: unknown;
    const { server, clock } = serverOf({
      DeleteVolume: (_, { signal }) =>
        new Promise(() => signal.addEventListener("abort", () => (reason = signal.reason))),
    });
    const answer = server.handle(post(deletion("7"), { "grpc-timeout": "5S" }));
    await clock.advance(5000 as never);
    expect((await answer).trailers).toEqual({
      "grpc-status": "4",
      "grpc-message": "/csi.v1.Controller/DeleteVolume did not respond within 5s.",
    });
    expect(String(reason)).toContain("did not respond within 5s");
  });

  test("the gRPC server cancels the handler when the client cancels the call", async () => {
    const client = new AbortController();
    const { server } = serverOf({ DeleteVolume: () => new Promise(() => undefined) });
    const answer = server.handle({ ...post(deletion("7")), cancelled: client.signal });
    await Promise.resolve();
    client.abort(new Error("the client has ended the call"));
    expect((await answer).trailers["grpc-status"]).toBe("1");
  });

  const refused: readonly (readonly [string, StreamRequest, string, string])[] = [
    ["an unknown method", { ...post(deletion("7")), path: "/csi.v1.Node/Nothing" }, "12", "is not supported"],
    [
      "a compressed message",
      post(frame(new Uint8Array(), 1)),
      "12",
      "Compressed messages are not supported.",
    ],
    ["a compression", post(deletion("7"), { "grpc-encoding": "gzip" }), "12", "The compression gzip is not"],
    ["a request that is too large", post(undefined), "8", "The request is larger than 4194304 bytes."],
    ["two messages", post(Buffer.concat([deletion("7"), deletion("8")])), "13", "Expected one message"],
    ["a body that is cut off", post(deletion("7").subarray(0, 6)), "13", "Expected one message"],
    ["an empty body", post(new Uint8Array()), "13", "Expected one message"],
    ["a malformed message", post(frame(Buffer.from("0aff", "hex"))), "13", "The request cannot be decoded"],
    ["an invalid deadline", post(deletion("7"), { "grpc-timeout": "soon" }), "3", "Invalid grpc-timeout"],
  ];
  test.each(refused)("the gRPC server rejects %s", async (_, request, status, message) => {
    const { server } = serverOf({ DeleteVolume: () => ({}) });
    const { trailers } = await server.handle(request);
    expect(trailers["grpc-status"]).toBe(status);
    expect(trailers["grpc-message"]).toContain(message);
  });

  test("the gRPC server reads deadlines in all units and encodes messages as UTF-8", () => {
    expect(["1H", "2M", "3S", "4m", "5000u", "6n", "1x", "123456789S", ""].map(timeoutOf)).toEqual([
      3_600_000,
      120_000,
      3000,
      4,
      5,
      6e-6,
      undefined,
      undefined,
      undefined,
    ]);
    expect(encodeStatusMessage("50% für\n")).toBe("50%25 f%C3%BCr%0A");
  });
});

interface Answered {
  readonly status: string;
  readonly message: string;
  readonly body: Buffer;
}

function call(client: ClientHttp2Session, method: string, body: Uint8Array): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const stream = client.request({
      ":method": "POST",
      ":path": `/csi.v1.Controller/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const chunks: Buffer[] = [];
    let trailers: Readonly<Record<string, unknown>> = {};
    stream.on("response", (headers) => (trailers = headers));
    stream.on("trailers", (headers) => (trailers = headers));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      const { "grpc-status": status, "grpc-message": message = "" } = trailers;
      resolve({ status: String(status), message: String(message), body: Buffer.concat(chunks) });
    });
    stream.on("error", reject);
    stream.end(body);
  });
}

describe("a gRPC server on a Unix socket", () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  test("a gRPC server on a Unix socket serves many calls at once, large messages and errors", async () => {
    const folder = mkdtempSync(join(tmpdir(), "grpc-"));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, "csi.sock");
    const { server } = serverOf(
      {
        DeleteVolume: ({ volumeID }) => {
          throw new RpcError("NOT_FOUND", `no ${volumeID}`);
        },
        ListVolumes: ({ startingToken }) => ({ nextToken: startingToken }),
      },
      systemClock as never,
    );
    const listener = await listenOnSocket(path, server.handle);
    closers.push(() => listener.close());
    const client = connect("http://localhost", { createConnection: () => socketTo(path) });
    closers.push(() => client.destroy());

    const missing = await Promise.all(
      Array.from({ length: 200 }, (_, index) => call(client, "DeleteVolume", deletion(String(index)))),
    );
    expect(missing.map(({ status, message }) => `${status} ${message}`)).toEqual(
      Array.from({ length: 200 }, (_, index) => `5 no ${index}`),
    );
    const startingToken = "x".repeat(300_000);
    const listed = await call(
      client,
      "ListVolumes",
      frame(codec.encode("ListVolumesRequest", { startingToken })),
    );
    expect(listed.status).toBe("0");
    expect(codec.decode("ListVolumesResponse", listed.body.subarray(5)).nextToken).toBe(startingToken);
    const tooLarge = await call(client, "ListVolumes", Buffer.alloc(4 * 1024 * 1024 + 6));
    expect(tooLarge.status).toBe("8");
  });

  test("a gRPC server replaces the socket of a process that has ended, but not a socket in use or a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "grpc-"));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const [path, file] = [join(folder, "csi.sock"), join(folder, "file")];
    const serve = (at: string) => listenOnSocket(at, serverOf({}).server.handle);
    const former = await serve(join(folder, "former"));
    // A second name of the socket stays when the server ends, like the socket of a killed process.
    linkSync(join(folder, "former"), path);
    await former.close();
    const first = await serve(path);
    closers.push(() => first.close());
    await expect(serve(path)).rejects.toMatchObject({ code: "EADDRINUSE" });
    await Bun.write(file, "data");
    await expect(serve(file)).rejects.toMatchObject({ code: "EEXIST" });
    expect(await Bun.file(file).text()).toBe("data");
  });
});
