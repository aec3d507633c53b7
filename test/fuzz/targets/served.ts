// Client input to a running manager's ports: requests to the secure port, reviews for the webhook, and CSI calls. The manager
// must not fail on any input.

import { fake } from "../../../providers/fake/index.ts";
import { annotationsOf } from "../../../src/app/configuration/cloud-settings.ts";
import { openServing } from "../../../src/app/endpoints/open-serving.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import type { ListenOptions, ServedRequest, ServedResponse } from "../../../src/platform/listener.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { csiSchema, csiServices } from "../../../src/volumes/csi/spec.ts";
import { Codec } from "../../../src/volumes/grpc/messages.ts";
import { RpcServer } from "../../../src/volumes/grpc/rpc-server.ts";
import { noFiles } from "../../support/running-manager.ts";
import { ServiceWorld } from "../../support/service-world.ts";
import type { FuzzTarget } from "../target.ts";
import { json, lines, protobuf } from "../tree.ts";

/** The ports of a manager that runs in virtual time. The test API server allows everything. */
class Ports {
  readonly #world = new ServiceWorld();
  readonly #opened: ListenOptions[] = [];

  static async open(): Promise<Ports> {
    const ports = new Ports();
    await ports.#open();
    return ports;
  }

  async #open(): Promise<void> {
    const world = this.#world;
    const provider = fake as unknown as AnyProvider;
    const transport = () => Promise.reject(new Error("not asked"));
    await world.start();
    world.create("web");
    await world.pass(10);
    await openServing(
      {
        flags: readFlags(["--webhooks=service-annotations", "--profiling=true"]).flags,
        platform: {
          clock: world.clock,
          random: seededRandom(7),
          files: noFiles,
          transport,
          cloudTransport: transport,
          environment: {},
        },
        listen: async (options) => {
          this.#opened.push(options);
          return { port: options.port, renew: () => undefined, close: async () => undefined };
        },
        figures: {
          cpuSeconds: () => 1.5,
          residentBytes: () => 1000,
          heapBytes: () => 500,
          startedAtSeconds: 1,
          objects: () => [["Object", 7]],
          snapshot: () => "{}",
        },
        log: createLog({ format: "text", verbosity: 0, clock: world.clock, write: () => undefined }),
        program: "fake-cloud-controller-manager",
        provider,
        annotations: annotationsOf(provider),
        setVerbosity: () => undefined,
      },
      world.manager,
    );
  }

  async send(to: "pages" | "webhook", changes: Partial<ServedRequest>): Promise<ServedResponse> {
    const port = this.#opened.find(({ asksForCertificate }) => asksForCertificate === (to === "pages"));
    if (port === undefined) throw new Error("The port is not open.");
    const plain = {
      method: "GET",
      target: "/",
      headers: [],
      peer: undefined,
      client: "10.0.0.1",
      body: async () => "",
    };
    const answer = Promise.allSettled([port.handle({ ...plain, ...changes })]);
    let end: Awaited<typeof answer>[0] | undefined;
    void answer.then(([settled]) => {
      end = settled;
    });
    for (let seconds = 0; end === undefined && seconds < 70; seconds += 1) await this.#world.pass(1);
    if (end?.status !== "fulfilled") throw end?.reason ?? new Error("There is no response.");
    if (end.value.status === 500) throw new Error(`It failed: ${end.value.body}`);
    return end.value;
  }
}

let opened: Promise<Ports> | undefined;
const ports = (): Promise<Ports> => {
  opened ??= Ports.open();
  return opened;
};

const request = (text: string): Partial<ServedRequest> => {
  const [head = "", ...body] = text.split("\n\n");
  const [first = "", ...others] = head.split("\n");
  const [method = "", target = ""] = first.split(" ");
  const headers = others.map((line): [string, string] => {
    const [name = "", ...value] = line.split(": ");
    return [name.toLowerCase(), value.join(": ")];
  });
  const whole = body.join("\n\n");
  return { method, target, headers, body: async (limit) => (whole.length > limit ? undefined : whole) };
};

const service = {
  metadata: {
    name: "web",
    namespace: "default",
    annotations: {
      "balancer.fake.example/algorithm": "round-robin",
      "fairlead.dev/paused": "true",
      "balancer.fake.example/algoritm": "x",
    },
  },
  spec: {
    type: "LoadBalancer",
    ports: [{ port: 80, protocol: "TCP" }],
    loadBalancerSourceRanges: ["10.0.0.0/8"],
  },
  status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
};
const review = {
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { uid: "4711", operation: "UPDATE", object: service, oldObject: service },
};

const codec = new Codec(csiSchema);
const rpc = new RpcServer({ clock: new VirtualClock(), report: () => undefined, redact: (text) => text });
rpc.add("csi.v1.Controller", csiSchema, csiServices.Controller, { DeleteVolume: () => ({}) });

/** A message in gRPC framing. */
const framed = (message: Uint8Array): Uint8Array => {
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
};

export const servedTargets: readonly FuzzTarget[] = [
  {
    name: "secure-port",
    form: lines,
    corpus: [
      "GET /debug/explain?kind=service&name=default/web HTTP/1.1\nauthorization: Bearer token\n\n",
      "GET /status?kind=node&all=true&name=node-0\naccept: text/html\nx-remote-user: a\nx-remote-extra-b%20: c\n\n",
      "GET /metrics\n\n",
      "PUT /debug/flags/v\ncontent-length: 1\n\n4",
      "GET /healthz/leaderElection?verbose=1&exclude=ping\n\n",
      "GET /debug/profile/cpu?seconds=1\n\n",
    ],
    run: async (input) => (await ports()).send("pages", request(input)),
    // The metrics page.
    growth: 5000,
    cost: 10,
  },
  {
    name: "webhook",
    form: json,
    corpus: [JSON.stringify(review)],
    run: async (input) =>
      (await ports()).send("webhook", {
        method: "POST",
        target: "/service-annotations?timeout=5s",
        headers: [["content-type", "application/json"]],
        body: async (limit) => (input.length > limit ? undefined : input),
      }),
    cost: 10,
  },
  {
    name: "csi-call",
    form: protobuf,
    corpus: [
      Buffer.from(codec.encode("DeleteVolumeRequest", { volumeID: "7", secrets: { a: "b" } })).toString(
        "latin1",
      ),
    ],
    run: async (input) => {
      const { trailers } = await rpc.handle({
        method: "POST",
        path: "/csi.v1.Controller/DeleteVolume",
        headers: {},
        body: async () => framed(Buffer.from(input, "latin1")),
        cancelled: new AbortController().signal,
      });
      const { "grpc-message": message = "" } = trailers;
      if (trailers["grpc-status"] === "13" && !message.startsWith("The request cannot be decoded"))
        throw new Error(message);
      return trailers;
    },
  },
];
