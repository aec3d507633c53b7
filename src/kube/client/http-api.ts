// The Kubernetes client over HTTP: makes a request of each verb, decodes and slims the response.

import { defined } from "../../core/defined.ts";
import { isKubeError } from "../errors/kube-error.ts";
import { type KubeObject, keyOf, type ObjectKey, type ObjectMeta } from "../objects.ts";
import { asMergePatch } from "../patches/merge-patch.ts";
import { applySteps, type Patch } from "../patches/patch.ts";
import type { KubeRequest, OpenStream, Verb } from "../requests/request.ts";
import type { Requests } from "../requests/requests.ts";
import { apiVersionOf, type Query, type Resource, resourcePath } from "../resources.ts";
import type { ClientOptions, Draft, KubeApi, ListOptions, Page, Preconditions, RawRequest } from "./api.ts";

/** Selects the only object of a list or watch. The API server also considers the name when it authorizes the request. */
function selected(
  selector: string | number | boolean | undefined,
  namespace: string | undefined,
): string | undefined {
  const name = /^metadata\.name=([^,]+)$/.exec(String(selector ?? ""))?.[1];
  return name === undefined ? undefined : keyOf({ name, ...defined({ namespace }) });
}

/** Servers that do not support this type send the whole object. */
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/** JSON is parsed without a pause. Users determine the size of Services; 500 Nodes take about 4 MB. */
const maxPageBytes = 8 * 1024 * 1024;

interface WireList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

function encode(resource: Resource<KubeObject>, object: object): string {
  return JSON.stringify({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...object });
}

export class HttpKubeApi implements KubeApi {
  readonly #requests: Requests;
  readonly #options: ClientOptions;

  constructor(requests: Requests, options: ClientOptions) {
    this.#requests = requests;
    this.#options = options;
  }

  get origin(): string {
    return this.#requests.origin;
  }

  async get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T> {
    const { plural } = resource;
    const path = resourcePath(resource, key);
    return this.#sendFor(resource, this.#request("get", plural, path, { object: keyOf(key) }), signal);
  }

  async listPage<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, ...query }: ListOptions,
    signal: AbortSignal,
  ): Promise<Page<T>> {
    const { limit = 1 } = query;
    const path = resourcePath(resource, defined({ namespace }));
    const maxBytes = limit > 1 ? maxPageBytes : undefined;
    const object = selected(query.fieldSelector, namespace);
    const details = { query, ...defined({ maxBytes, object }) };
    const request = this.#request("list", resource.plural, path, details);
    let list: WireList<T>;
    try {
      list = (await this.#requests.send(request, signal)) as WireList<T>;
    } catch (error) {
      if (!isKubeError(error, "too-large")) throw error;
      const smaller = defined({ ...query, namespace, limit: Math.ceil(limit / 8) });
      return this.listPage(resource, smaller, signal);
    }
    const { items, metadata } = list;
    return {
      ...defined({ limit: query.limit }),
      items: (items ?? []).map((raw) => resource.slim(raw)),
      resourceVersion: metadata?.resourceVersion ?? "",
      ...defined({ continue: metadata?.continue || undefined }),
    };
  }

  async create<T extends KubeObject>(
    resource: Resource<T>,
    draft: Draft<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { name, namespace } = draft.metadata;
    const path = resourcePath(resource, defined({ namespace }));
    const object = keyOf({ name, ...defined({ namespace }) });
    const body = encode(resource, draft);
    return this.#sendFor(resource, this.#request("create", resource.plural, path, { object, body }), signal);
  }

  async replace<T extends KubeObject>(resource: Resource<T>, object: T, signal: AbortSignal): Promise<T> {
    const request = this.#request("update", resource.plural, resourcePath(resource, object.metadata), {
      object: keyOf(object.metadata),
      body: encode(resource, object),
    });
    return this.#sendFor(resource, request, signal);
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#sendFor(resource, this.#patchRequest(resource, key, patch), signal);
  }

  async patchKnown<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T> {
    const { metadata: key } = object;
    if (patch.contentType !== "application/json-patch+json") return this.patch(resource, key, patch, signal);
    const merge = asMergePatch(object, patch);
    if (merge === undefined) return this.patch(resource, key, patch, signal);
    const request = { ...this.#patchRequest(resource, key, merge), accept: metadataOnly };
    try {
      const reply = await this.#requests.send(request, signal);
      const { kind, metadata } = reply as { readonly kind?: string; readonly metadata: ObjectMeta };
      if (kind !== "PartialObjectMetadata") return resource.slim(reply as T);
      return resource.slim({ ...applySteps(object, patch.body), metadata });
    } catch (error) {
      if (!isKubeError(error, "conflict")) throw error;
    }
    // Another client changed the object since this version, but perhaps no value behind the guards. The response must contain its
    // changes too, because the object gets the new version.
    return this.patch(resource, key, patch, signal);
  }

  async delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    preconditions: Preconditions,
    signal: AbortSignal,
  ): Promise<void> {
    const request = this.#request("delete", resource.plural, resourcePath(resource, key), {
      object: keyOf(key),
      body: JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", preconditions }),
    });
    await this.#requests.send(request, signal);
  }

  request({ verb, resource, path, body, ...others }: RawRequest, signal: AbortSignal): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = this.#request(verb, resource, path, { ...others, ...defined({ body: text }) });
    return this.#requests.send(request, signal);
  }

  openWatch<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, query }: { readonly namespace?: string; readonly query: Query },
    signal: AbortSignal,
  ): Promise<OpenStream> {
    const path = resourcePath(resource, defined({ namespace }));
    const details = { query, ...defined({ object: selected(query["fieldSelector"], namespace) }) };
    return this.#requests.open(this.#request("watch", resource.plural, path, details), signal);
  }

  whenAnswered(signal: AbortSignal): Promise<void> {
    return this.#requests.whenAnswered(signal);
  }

  as(options: Partial<ClientOptions>): KubeApi {
    return new HttpKubeApi(this.#requests, { ...this.#options, ...options });
  }

  #request(verb: Verb, resource: string, path: string, details: Partial<KubeRequest>): KubeRequest {
    return { lane: "normal", priority: "state", ...this.#options, ...details, verb, resource, path };
  }

  #patchRequest<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: Patch): KubeRequest {
    const { name, namespace } = key;
    const { subresource, contentType, body } = patch;
    const path = resourcePath(resource, { name, ...defined({ namespace, subresource }) });
    const target = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
    return this.#request("patch", target, path, {
      object: keyOf(key),
      contentType,
      body: JSON.stringify(body),
    });
  }

  async #sendFor<T extends KubeObject>(
    resource: Resource<T>,
    request: KubeRequest,
    signal: AbortSignal,
  ): Promise<T> {
    return resource.slim((await this.#requests.send(request, signal)) as T);
  }
}
