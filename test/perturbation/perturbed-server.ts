// Stands between a manager and an API server, and limits what the manager sees of Nodes and Services to what a server may legally show: changes that
// are only part of the next list (compaction), and lists of an older revision (a watch cache that lags). Writes always pass.

import { LineDecoder } from "../../src/kube/watch/line-decoder.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import { abortable } from "../../src/runtime/abortable.ts";
import { headerOf, type RequestInfo, readRequest } from "../../src/testing/apiserver/http/parse-request.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";

interface Shown {
  /**
   * An example is `nodes a: MODIFIED 2`, the second such change. Unlike the position among all changes, this label does not
   * depend on races.
   */
  readonly label: string;
  readonly plural: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
}
interface Frame {
  readonly type: Shown["type"] | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}
interface List {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly KubeObject[];
}
type Gate = PromiseWithResolvers<void>;

const writes = ["create", "update", "patch", "delete"];

export const isWrite = ({ verb, plural }: RequestInfo): boolean =>
  writes.includes(verb) && isFollowed(plural);

const isFollowed = (plural: string): boolean => plural === "nodes" || plural === "services";

/** Rejects a request as an API server does. */
export const refusal = (code: number, reason: string, message: string) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  code,
});

/** Go managers prefer protobuf, which this server does not read. */
const asJson = (request: TransportRequest): TransportRequest => {
  if (headerOf(request, "accept")?.includes("protobuf") !== true) return request;
  const others = Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== "accept");
  return { ...request, headers: Object.fromEntries([...others, ["accept", "application/json"]]) };
};

const keyOf = ({ metadata: { namespace = "", name } }: KubeObject): string => `${namespace}/${name}`;

export class PerturbedServer {
  /** Servers before 1.34, or without the feature WatchList, reject streaming lists. */
  hasStreamingLists = true;
  readonly #server: Transport;
  readonly #shown: Shown[] = [];
  /** Each change by uid and version, because several watches show it. */
  readonly #known = new Set<string>();
  /** The version of the first list. */
  readonly #firstVersions = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  #holdFrom: string | undefined;
  #held: { readonly plural: string; readonly gate: Gate } | undefined;
  #lag: { readonly changes: number; readonly gate: Gate } | undefined;

  constructor(server: Transport) {
    this.#server = server;
  }

  /** The labels of the Node and Service changes that the manager has seen. */
  get changesShown(): readonly string[] {
    return this.#shown.map(({ label }) => label);
  }

  /** Whether the manager has listed both Nodes and Services. */
  get isListed(): boolean {
    return this.#firstVersions.size === 2;
  }

  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  /** Hides this change, and all later ones of its watch, until `release`. */
  holdFrom(label: string): void {
    this.#holdFrom = label;
  }

  /** Ends the held watch with 410, as after a compaction: the manager sees the result of all changes in one list. */
  release(): void {
    this.#holdFrom = undefined;
    this.#held?.gate.resolve();
    this.#held = undefined;
  }

  /**
   * From now on, the server has a watch cache that ends before this change. It still answers consistent reads with the
   * present state: only lists with resourceVersion=0 are old. Returns false if the change was not shown.
   */
  lagBefore(label: string): boolean {
    const changes = this.changesShown.indexOf(label);
    if (changes !== -1) this.#lag = { changes, gate: Promise.withResolvers() };
    return changes !== -1;
  }

  catchUp(): void {
    this.#lag?.gate.resolve();
    this.#lag = undefined;
  }

  readonly transport: Transport = async (request, signal) => {
    const info = readRequest(request);
    const { verb, plural, name, query } = info;
    if (!isFollowed(plural) || isWrite(info) || name !== "") return this.#server(request, signal);
    const isStreamingList = query.get("sendInitialEvents") === "true";
    if (isStreamingList && !this.hasStreamingLists)
      return Response.json(refusal(422, "Invalid", "sendInitialEvents is forbidden for watch"), {
        status: 422,
      });
    if (this.#held?.plural === plural) await abortable(this.#held.gate.promise, signal);
    if (this.#lag !== undefined) {
      const version = query.get("resourceVersion") ?? "";
      if (verb === "list" && version === "0")
        return Response.json(this.#listAfter(this.#lag.changes, plural));
      // A list without a version is a consistent read. A watch, and a streaming list, wait for the cache.
      if (verb === "watch" || version !== "") await abortable(this.#lag.gate.promise, signal);
    }
    const end = new AbortController();
    const response = await this.#server(asJson(request), AbortSignal.any([signal, end.signal]));
    if (!response.ok || response.body === null) return response;
    const headers = { "content-type": "application/json" };
    if (verb === "watch") return new Response(this.#watched(plural, response.body, end), { headers });
    const list = (await response.json()) as List;
    this.#begin(plural, list.metadata.resourceVersion);
    for (const object of list.items) this.#record(plural, "ADDED", object);
    return new Response(JSON.stringify(list), { headers });
  };

  #begin(plural: string, version: string): void {
    if (!this.#firstVersions.has(plural)) this.#firstVersions.set(plural, version);
  }

  #labelOf(plural: string, type: string, { metadata }: KubeObject): string {
    const label = `${plural} ${metadata.name}: ${type}`;
    return `${label} ${(this.#counts.get(label) ?? 0) + 1}`;
  }

  #isKnown(type: string, { metadata }: KubeObject): boolean {
    return this.#known.has(`${type === "DELETED"} ${metadata.uid} ${metadata.resourceVersion}`);
  }

  #record(plural: string, type: Shown["type"], object: KubeObject): void {
    if (this.#isKnown(type, object)) return;
    const { uid, name, resourceVersion } = object.metadata;
    this.#known.add(`${type === "DELETED"} ${uid} ${resourceVersion}`);
    this.#shown.push({ label: this.#labelOf(plural, type, object), plural, type, object });
    const counted = `${plural} ${name}: ${type}`;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }

  /** The list of a watch cache that has seen so many changes. */
  #listAfter(changes: number, plural: string): List {
    const objects = new Map<string, KubeObject>();
    const seen = this.#shown.slice(0, changes).filter((shown) => shown.plural === plural);
    for (const { type, object } of seen)
      if (type === "DELETED") objects.delete(keyOf(object));
      else objects.set(keyOf(object), object);
    const versions = [
      this.#firstVersions.get(plural),
      ...seen.map(({ object }) => object.metadata.resourceVersion),
    ];
    const resourceVersion = String(Math.max(...versions.map(Number)));
    const kind = plural === "nodes" ? "NodeList" : "ServiceList";
    return { kind, apiVersion: "v1", metadata: { resourceVersion }, items: [...objects.values()] };
  }

  /** The lines of a watch, up to the first held change. */
  #watched(
    plural: string,
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    end: AbortController,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const encoder = new TextEncoder();
    const decoder = new LineDecoder();
    const pump = async (controller: ReadableStreamDefaultController): Promise<void> => {
      for await (const chunk of body) {
        for (const line of decoder.push(chunk)) {
          const gate = this.#gateFor(plural, JSON.parse(line) as Frame);
          if (gate !== undefined) {
            await abortable(gate.promise, end.signal);
            const object = refusal(410, "Expired", "too old resource version");
            controller.enqueue(encoder.encode(`${JSON.stringify({ type: "ERROR", object })}\n`));
            end.abort();
            return controller.close();
          }
          controller.enqueue(encoder.encode(`${line}\n`));
        }
      }
      controller.close();
    };
    return new ReadableStream({
      start: (controller) => {
        pump(controller).catch((error) => {
          if (!end.signal.aborted) controller.error(error);
        });
      },
      cancel: () => end.abort(),
    });
  }

  /** The gate that delays the line; undefined if the line is sent immediately. */
  #gateFor(plural: string, { type, object }: Frame): Gate | undefined {
    if (type === "BOOKMARK" || type === "ERROR") {
      if (type === "BOOKMARK") this.#begin(plural, object.metadata.resourceVersion);
      return this.#heldGate(plural);
    }
    const isFirst = !this.#isKnown(type, object);
    if (isFirst && this.#labelOf(plural, type, object) === this.#holdFrom)
      this.#held ??= { plural, gate: Promise.withResolvers() };
    const gate = this.#heldGate(plural);
    if (gate === undefined) this.#record(plural, type, object);
    return gate;
  }

  #heldGate(plural: string): Gate | undefined {
    return this.#held?.plural === plural ? this.#held.gate : undefined;
  }
}
