// The test API server without sockets: a function from a request to a response, over a store that tests may use directly. Routes
// requests; storage/object-registry.ts contains the rules about objects, storage/watch-objects.ts the watches.

import { seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { TransportRequest } from "../../platform/transport.ts";
import { abortable } from "../../runtime/abortable.ts";
import { answerError, answerJson, answerText } from "./http/answer.ts";
import { discover } from "./http/discovery.ts";
import { headerOf, type RequestInfo, readObject, readRequest } from "./http/parse-request.ts";
import {
  changeFor,
  type ReadDeps,
  type ResourceRequest,
  serveDelete,
  serveList,
  serveObject,
  serveWatch,
} from "./http/serve-objects.ts";
import { type Authorize, answerReview } from "./http/serve-reviews.ts";
import { ApiError, forbidden, methodNotAllowed, noSuchResource } from "./objects/api-error.ts";
import type { Identity, KubeObject } from "./objects/kube-object.ts";
import { resourceNamed, reviews } from "./objects/resource-table.ts";
import { Lister } from "./storage/list-objects.ts";
import { ObjectRegistry, type WriteOptions } from "./storage/object-registry.ts";
import { type ChangeListener, Store } from "./storage/object-store.ts";
import type { WatchSettings } from "./storage/watch-objects.ts";

export interface ApiServerOptions {
  /** The number of changes that the history keeps per resource. */
  readonly historyLimit?: number;
  /** The identity of each bearer token. */
  readonly tokens?: Readonly<Record<string, Identity>>;
  /** If unset, everything is allowed. */
  readonly authorize?: Authorize;
}

interface ApiServerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly options?: ApiServerOptions;
}

export class ApiServer {
  readonly store: Store;
  readonly objects: ObjectRegistry;
  readonly faults: Faults = {};
  /** Number of requests by verb and resource, such as `patch nodes/status`. */
  readonly requests = new Map<string, number>();
  /** May be changed while the server runs. */
  readonly watchSettings: { -readonly [K in keyof WatchSettings]: WatchSettings[K] } = {
    streamingLists: "on",
    goneAs: "event",
    waitingLimit: 20_000,
  };
  readonly #clock: Clock;
  readonly #tokens: NonNullable<ApiServerOptions["tokens"]>;
  readonly #authorize: Authorize;
  readonly #lister: Lister;
  readonly #read: ReadDeps;
  #eventsCreated = 0;

  /** Headers of each response, such as `warning`, with which a server announces changes. */
  announced: Readonly<Record<string, string>> = {};

  constructor({ clock, random, options = {} }: ApiServerDeps) {
    this.#clock = clock;
    this.#tokens = options.tokens ?? {};
    this.#authorize = options.authorize ?? (() => true);
    this.store = new Store(options.historyLimit ?? 20_000);
    this.objects = new ObjectRegistry({ store: this.store, clock, random });
    this.#lister = new Lister(this.store, clock);
    this.#read = {
      store: this.store,
      clock,
      random,
      lister: this.#lister,
      settings: this.watchSettings,
    };
    seedObjects(this.objects);
  }

  /** Calls the listener synchronously after each write; returns a function that removes it. */
  onWrite(listener: ChangeListener): () => void {
    return this.store.onWrite(listener);
  }

  /** The user of a bearer token. */
  identityOf(token: string): Identity | undefined {
    return this.#tokens[token];
  }

  /** Drops the history and unfinished listings: older versions are answered with 410 from now on. */
  compact(): void {
    this.store.compact();
    this.#lister.expireContinuations();
  }

  /** Rejects only when the connection breaks or the signal aborts. Every server error is a response. */
  async handle(request: TransportRequest, identity: Identity, signal: AbortSignal): Promise<Response> {
    signal.throwIfAborted();
    const info = readRequest(request);
    this.#count(info);
    const fault = this.faults.intercept?.(request, info);
    if (fault === "hang") return abortable(new Promise<never>(() => {}), signal);
    if (fault === "drop") throw new ConnectionLostError();
    if (fault instanceof Response) return fault;
    const warnings: string[] = [];
    try {
      const response = this.#answer(request, info, identity, signal, warnings);
      for (const [name, value] of Object.entries(this.announced)) response.headers.append(name, value);
      if (fault === "lose-answer") {
        await response.body?.cancel();
        throw new ConnectionLostError();
      }
      return response;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // The server waits this long for the requested version before it gives up.
      if (error.code === 504) await sleep(this.#clock, seconds(3), signal);
      return answerError(error, warnings);
    }
  }

  #count({ verb, plural, subresource, path }: RequestInfo): void {
    const key = `${verb} ${plural === "" ? path : plural}${subresource === "" ? "" : `/${subresource}`}`;
    this.requests.set(key, (this.requests.get(key) ?? 0) + 1);
  }

  #deleteOldEvents(): void {
    const limit = this.#clock.now() - maxEventAge;
    for (const event of [...this.store.list("events")]) {
      const { creationTimestamp } = event.metadata;
      const lastSeen = String(event["lastTimestamp"] ?? creationTimestamp);
      if (Date.parse(lastSeen) < limit && Date.parse(creationTimestamp) < limit)
        this.store.remove(resourceNamed("events"), event);
    }
  }

  #answer(
    request: TransportRequest,
    info: RequestInfo,
    identity: Identity,
    signal: AbortSignal,
    warnings: string[],
  ): Response {
    if (/^\/(healthz|livez|readyz)(\/|$)/.test(info.path)) return answerText(200, "ok", [], "text/plain");
    const review = reviews.find((each) => each.group === info.group && each.plural === info.plural);
    if (review !== undefined) {
      if (info.verb !== "create") throw methodNotAllowed();
      const body = readObject(request, review.kind);
      const authenticate = (token: string) => this.identityOf(token);
      return answerJson(201, answerReview(review, body, identity, authenticate, this.#authorize));
    }
    const { resource, group, plural, subresource, namespace, name, verb, version } = info;
    const unknownPath = (): Response => answerText(404, "404 page not found\n", [], "text/plain");
    if (plural === "" || info.path.startsWith("/openapi")) {
      const document = discover(info.path);
      return document === undefined ? unknownPath() : answerJson(200, document);
    }
    if (resource === undefined) {
      const root = group === "" ? "/api" : `/apis/${group}`;
      if (discover(`${root}/${version}`) === undefined) return unknownPath();
      throw noSuchResource();
    }
    const access = { verb, group, resource: plural, subresource, namespace, name, path: "" };
    if (!this.#authorize(identity, access)) {
      const scope = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
      const what = subresource === "" ? plural : `${plural}/${subresource}`;
      const why = `User "${identity.username}" cannot ${verb} resource "${what}" in API group "${group}" ${scope}`;
      throw forbidden(resource, name, why);
    }
    return this.#serve(request, { ...info, resource }, signal, warnings);
  }

  #serve(
    request: TransportRequest,
    info: ResourceRequest,
    signal: AbortSignal,
    warnings: string[],
  ): Response {
    const { name, namespace, subresource, query, resource } = info;
    const isStatus = subresource === "status" && resource.hasStatus === true;
    if ((subresource !== "" && !isStatus) || (!resource.namespaced && namespace !== ""))
      throw noSuchResource();
    const validation = query.get("fieldValidation");
    const manager = headerOf(request, "user-agent")?.split("/")[0];
    const options: WriteOptions = {
      ...defined({ manager }),
      dryRun: query.getAll("dryRun").includes("All"),
      fieldValidation: validation === "Strict" || validation === "Ignore" ? validation : "Warn",
      warn: (text) => warnings.push(text),
    };
    const serve = (code: number, object: KubeObject): Response =>
      serveObject(this.#read, info, object, code, warnings);
    switch (info.verb) {
      case "get":
        return serveObject(this.#read, info, this.objects.get(resource, namespace, name));
      case "list":
        return serveList(this.#read, info);
      case "watch":
        return serveWatch(this.#read, info, signal);
      case "create": {
        if (name !== "" || (resource.namespaced && namespace === "")) throw methodNotAllowed();
        const object = this.objects.create(resource, namespace, readObject(request, resource.kind), options);
        // Swept here instead of with a timer, so that an idle server has no timers.
        if (resource.plural === "events" && ++this.#eventsCreated % createsPerSweep === 0)
          this.#deleteOldEvents();
        return serve(201, object);
      }
      case "update": {
        const given = readObject(request, resource.kind);
        const { object, isNew } = this.objects.update(resource, namespace, name, subresource, given, options);
        return serve(isNew ? 201 : 200, object);
      }
      case "patch": {
        const change = changeFor(request, resource);
        return serve(200, this.objects.patch(resource, namespace, name, subresource, change, options));
      }
      case "delete":
        if (isStatus || name === "") throw methodNotAllowed();
        return serveDelete(this.objects, request, info, options);
      default:
        throw methodNotAllowed();
    }
  }
}

/** How long Events are kept. */
const maxEventAge = 3_600_000;
/** The number of Events between two sweeps. */
const createsPerSweep = 256;

/**
 * A Response is returned as is. `drop` breaks the connection before the server acts, `lose-answer` afterwards. `hang` never
 * answers; undefined lets the request through.
 */
export type FaultOutcome = Response | "drop" | "lose-answer" | "hang" | undefined;

/** Faults that a test injects between a client and the test API server. */
export interface Faults {
  intercept?: ((request: TransportRequest, info: RequestInfo) => FaultOutcome) | undefined;
}

/** The error that a client sees when its connection breaks. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
  readonly code = "ECONNRESET";

  constructor() {
    super("The socket connection was closed unexpectedly.");
  }
}

const namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];

/** The objects of a new cluster: namespaces, their default service accounts, and the `kubernetes` Service. There are no Nodes. */
function seedObjects(registry: ObjectRegistry): void {
  for (const name of namespaces) {
    registry.create(resourceNamed("namespaces"), "", { metadata: { name } });
    registry.create(resourceNamed("serviceaccounts"), name, { metadata: { name: "default" } });
  }
  registry.create(resourceNamed("services"), "default", {
    metadata: { name: "kubernetes", labels: { component: "apiserver", provider: "kubernetes" } },
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "https", port: 443, targetPort: 6443 }] },
  });
}
