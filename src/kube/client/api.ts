// What a caller sees of the API server: typed verbs over one shared way of making requests.
// It decodes and slims what comes; it caches nothing and retries nothing.

import type { Milliseconds } from "../../core/brand.ts";
import { type KubeObject, keyOf, type ObjectKey, type ObjectMeta } from "../objects.ts";
import type { Patch } from "../patches/patch.ts";
import { applySteps } from "../patches/patched-object.ts";
import type { KubeRequest, OpenStream, Verb, WriteGate } from "../requests/request.ts";
import type { Lane } from "../requests/request-ceiling.ts";
import type { Requests } from "../requests/requests.ts";
import type { WritePriority } from "../requests/write-window.ts";
import { apiVersionOf, type Query, type Resource, resourcePath } from "../resources.ts";

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Absent on the last page. */
  readonly continue?: string;
}

/** The delete is refused with a conflict unless all of these hold at the server. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface RawRequest {
  readonly verb: Verb;
  /** For metrics: "tokenreviews", "readyz". */
  readonly resource: string;
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly deadline?: Milliseconds;
}

/** How this client presents itself and what it may do; clients over the same requests share window, ceiling and pool. */
export interface Client {
  readonly userAgent: string;
  readonly lane?: Lane;
  readonly priority?: WritePriority;
  readonly deadline?: Milliseconds;
  /** Left out: every write is allowed (lease, authentication). */
  readonly mayWrite?: WriteGate;
}

/** What is sent when creating: the server fills in the rest. */
export type Draft<T extends KubeObject> = Omit<T, "metadata"> & {
  readonly metadata: Partial<T["metadata"]> & { readonly name: string };
};

export interface KubeApi {
  readonly origin: string;
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T>;
  listPage<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<Page<T>>;
  create<T extends KubeObject>(resource: Resource<T>, draft: Draft<T>, signal: AbortSignal): Promise<T>;
  /** A PUT guarded by the object's own resourceVersion: for objects that are wholly ours (the lease). */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, signal: AbortSignal): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T>;
  /** The same for an object we know: the server sends back its metadata only, the rest follows from the patch. */
  patchKnown<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T>;
  delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    preconditions: Preconditions,
    signal: AbortSignal,
  ): Promise<void>;
  /** Anything without a resource of ours: reviews, tokens, health, version. Not slimmed. */
  request(raw: RawRequest, signal: AbortSignal): Promise<unknown>;
  openWatch<T extends KubeObject>(
    resource: Resource<T>,
    options: { readonly namespace?: string; readonly query: Query },
    signal: AbortSignal,
  ): Promise<OpenStream>;
  /** Resolves at the next answer that anybody gets, through whichever client of this server. */
  whenAnswered(signal: AbortSignal): Promise<void>;
  /** The same server with another name, lane or gate. */
  as(client: Partial<Client>): KubeApi;
}

/** A server that does not know it sends the whole object. */
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

interface WireList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

export function createKubeApi(requests: Requests, client: Client): KubeApi {
  const { lane = "normal", priority = "state", ...rest } = client;
  const common = { ...rest, lane, priority };
  const named = (resource: { readonly plural: string }, subresource?: string): string =>
    subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  const typed = <T extends KubeObject>(resource: Resource<T>, body: object): string =>
    JSON.stringify({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...body });
  const slim = <T extends KubeObject>(resource: Resource<T>, raw: unknown): T => resource.slim(raw as T);

  const patchRequest = <T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    { contentType, body, subresource }: Patch,
  ): KubeRequest => ({
    ...common,
    verb: "patch",
    resource: named(resource, subresource),
    object: keyOf(key),
    path: resourcePath(resource, {
      name: key.name,
      ...(key.namespace !== undefined && { namespace: key.namespace }),
      ...(subresource !== undefined && { subresource }),
    }),
    body: JSON.stringify(body),
    contentType,
  });

  return {
    origin: requests.origin,
    get: async (resource, key, signal) =>
      slim(
        resource,
        await requests.send(
          {
            ...common,
            verb: "get",
            resource: resource.plural,
            object: keyOf(key),
            path: resourcePath(resource, key),
          },
          signal,
        ),
      ),
    listPage: async <T extends KubeObject>(
      resource: Resource<T>,
      options: ListOptions,
      signal: AbortSignal,
    ) => {
      const { namespace, ...query } = options;
      const path = resourcePath(resource, namespace === undefined ? {} : { namespace });
      const sent = { ...common, verb: "list", resource: resource.plural, path, query } as const;
      const list = (await requests.send(sent, signal)) as WireList<T>;
      const next = list.metadata?.continue;
      return {
        items: (list.items ?? []).map((raw) => resource.slim(raw)),
        resourceVersion: list.metadata?.resourceVersion ?? "",
        ...(next !== undefined && next !== "" && { continue: next }),
      };
    },
    create: async (resource, draft, signal) => {
      const { namespace } = draft.metadata;
      const path = resourcePath(resource, namespace === undefined ? {} : { namespace });
      const object = keyOf({ name: draft.metadata.name, ...(namespace !== undefined && { namespace }) });
      const sent = { ...common, verb: "create", resource: resource.plural, object, path } as const;
      return slim(resource, await requests.send({ ...sent, body: typed(resource, draft) }, signal));
    },
    replace: async (resource, object, signal) => {
      const path = resourcePath(resource, object.metadata);
      const sent = {
        ...common,
        verb: "update",
        resource: resource.plural,
        object: keyOf(object.metadata),
        path,
      } as const;
      return slim(resource, await requests.send({ ...sent, body: typed(resource, object) }, signal));
    },
    patch: async (resource, key, patch, signal) =>
      slim(resource, await requests.send(patchRequest(resource, key, patch), signal)),
    patchKnown: async (resource, object, patch, signal) => {
      const sent = patchRequest(resource, object.metadata, patch);
      if (patch.contentType !== "application/json-patch+json") {
        return slim(resource, await requests.send(sent, signal));
      }
      const reply = await requests.send({ ...sent, accept: metadataOnly }, signal);
      const { kind, metadata } = reply as { readonly kind?: string; readonly metadata: ObjectMeta };
      if (kind !== "PartialObjectMetadata") return slim(resource, reply);
      return slim(resource, { ...applySteps(object, patch.body), metadata });
    },
    delete: async (resource, key, preconditions, signal) => {
      const body = JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", preconditions });
      const sent = { ...common, verb: "delete", resource: resource.plural, object: keyOf(key) } as const;
      await requests.send({ ...sent, path: resourcePath(resource, key), body }, signal);
    },
    request: ({ body, ...raw }, signal) =>
      requests.send({ ...common, ...raw, ...(body !== undefined && { body: JSON.stringify(body) }) }, signal),
    openWatch: (resource, { namespace, query }, signal) => {
      const path = resourcePath(resource, namespace === undefined ? {} : { namespace });
      return requests.open({ ...common, verb: "watch", resource: resource.plural, path, query }, signal);
    },
    whenAnswered: requests.whenAnswered,
    as: (other) => createKubeApi(requests, { ...client, ...other }),
  };
}
