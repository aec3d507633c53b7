// The official JavaScript client over Bun's fetch, with which tests read and change a cluster without Fairlead's client.

import {
  ApiException,
  type Configuration,
  CoreV1Api,
  createConfiguration,
  type HttpLibrary,
  HttpMethod,
  KubeConfig,
  KubernetesObjectApi,
  type RequestContext,
  ResponseContext,
  ServerConfiguration,
  wrapHttpLibrary,
} from "@kubernetes/client-node";
import type { Draft, ListOptions } from "../../src/kube/client/api.ts";
import type { KubeObject, ObjectKey } from "../../src/kube/objects.ts";
import type { Patch } from "../../src/kube/patches/patch.ts";
import { apiVersionOf, type Resource } from "../../src/kube/resources.ts";

type Selection = Pick<ListOptions, "namespace" | "labelSelector" | "fieldSelector">;

/** Bun ignores the TLS settings of the client's dispatcher. */
function bunLibrary(config: KubeConfig): HttpLibrary {
  return wrapHttpLibrary({
    send: async (request: RequestContext) => {
      const tls: Bun.TLSOptions = {};
      await config.applyToHTTPSOptions(tls as never);
      const { ca, cert, key } = tls;
      const body = request.getBody();
      const response = await fetch(request.getUrl(), {
        method: request.getHttpMethod(),
        headers: request.getHeaders(),
        ...(body !== undefined && { body: String(body) }),
        tls: { ca, cert, key },
      } as BunFetchRequestInit);
      const headers = Object.fromEntries(response.headers);
      return new ResponseContext(response.status, headers, {
        text: () => response.text(),
        binary: async () => Buffer.from(await response.arrayBuffer()),
        stream: () => response.body,
      });
    },
  });
}

class ObjectsApi extends KubernetesObjectApi {
  /** The client's own `patch` has no subresources, and sends only whole objects. */
  async patchWith(object: Parameters<KubernetesObjectApi["read"]>[0], patch: Patch) {
    const { contentType, body, subresource } = patch;
    const path = [await this.specUriPath(object, "patch"), ...(subresource ? [subresource] : [])].join("/");
    const request = this.configuration.baseServer.makeRequestContext(path, HttpMethod.PATCH);
    request.setHeaderParam("Content-Type", contentType);
    request.setBody(JSON.stringify(body));
    return this.requestPromise(request);
  }
}

/** The models of the client have dates. */
const asJson = <T>(model: unknown): T => JSON.parse(JSON.stringify(model)) as T;

const headOf = (resource: Omit<Resource<KubeObject>, "slim">) => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
});

export class OfficialClient {
  /** For objects without a `Resource`. */
  readonly objects: ObjectsApi;
  readonly #core: CoreV1Api;

  constructor(config: KubeConfig) {
    const configuration: Configuration = createConfiguration({
      baseServer: new ServerConfiguration(config.getCurrentCluster()?.server ?? "", {}),
      authMethods: { default: config },
      httpApi: bunLibrary(config),
    });
    this.objects = new ObjectsApi(configuration);
    this.#core = new CoreV1Api(configuration);
  }

  static open(kubeconfigFile: string): OfficialClient {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigFile);
    return new OfficialClient(config);
  }

  async get<T extends KubeObject>(resource: Resource<T>, { name, namespace = "" }: ObjectKey): Promise<T> {
    return asJson(await this.objects.read({ ...headOf(resource), metadata: { name, namespace } }));
  }

  /** A token of a service account. */
  async tokenOf({ name, namespace = "" }: ObjectKey): Promise<string> {
    const body = { spec: { audiences: [], expirationSeconds: 3600 } };
    const { status } = await this.#core.createNamespacedServiceAccountToken({ name, namespace, body });
    return status?.token ?? "";
  }

  /** Lists all namespaces unless one is given. */
  async list<T extends KubeObject>(resource: Resource<T>, selection: Selection = {}): Promise<readonly T[]> {
    const { apiVersion, kind } = headOf(resource);
    const { namespace, fieldSelector, labelSelector } = selection;
    const none = undefined;
    const selectors = [fieldSelector, labelSelector] as const;
    const { items } = await this.objects.list(apiVersion, kind, namespace, none, none, none, ...selectors);
    return asJson(items);
  }

  async create<T extends KubeObject>(resource: Resource<T>, draft: Draft<T>): Promise<T> {
    return asJson(await this.objects.create({ ...headOf(resource), ...(draft as object) }));
  }

  async patch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: Patch): Promise<T> {
    const { name, namespace = "" } = key;
    return asJson(
      await this.objects.patchWith({ ...headOf(resource), metadata: { name, namespace } }, patch),
    );
  }

  async delete<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<void> {
    const { name, namespace = "" } = key;
    await this.objects.delete({ ...headOf(resource), metadata: { name, namespace } });
  }
}

/** Undefined when the object does not exist. */
export async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApiException && error.code === 404) return undefined;
    throw error;
  }
}
