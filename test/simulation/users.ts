// Actions of users and tools on Services: create, edit, change the type, delete, and sometimes remove the finalizers.

import type { Service } from "../../src/kube/objects.ts";
import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { ApiError } from "../../src/testing/apiserver/objects/api-error.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { History } from "./history.ts";

const services = resourceNamed("services");

export class Users {
  /** Uids of Services whose finalizers a user removed. Their load balancers may stay behind as orphans. */
  readonly finalizersRemoved = new Set<string>();
  readonly #server: ApiServer;
  readonly #history: History;

  constructor(server: ApiServer, history: History) {
    this.#server = server;
    this.#history = history;
  }

  services(): readonly Service[] {
    const all = this.#server.store.list("services") as unknown as readonly Service[];
    return all.filter(({ metadata }) => metadata.name !== "kubernetes");
  }

  find(name: string): Service | undefined {
    return this.#server.store.get("services", "default", name) as unknown as Service | undefined;
  }

  create(name: string, spec: JsonObject): void {
    if (this.find(name) !== undefined) return;
    this.#history.log(`the Service ${name} is created: ${JSON.stringify(spec)}`);
    const ports = [{ port: 80, protocol: "TCP" }];
    this.#server.objects.create(services, "default", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "default" },
      spec: { type: "LoadBalancer", ports, selector: { app: name }, ...spec },
    });
  }

  edit(name: string, what: string, change: (service: Service) => unknown, subresource = ""): void {
    if (this.find(name) === undefined) return;
    this.#history.log(`${what} on the Service ${name}`);
    const apply = (now: unknown): JsonObject => change(now as Service) as JsonObject;
    try {
      this.#server.objects.patch(services, "default", name, subresource, apply);
    } catch (error) {
      // For example a second class, after the Service has changed in the meantime.
      if (!(error instanceof ApiError) || error.code !== 422) throw error;
      this.#history.log(`it is refused: ${error.message}`);
    }
  }

  editSpec(name: string, spec: JsonObject): void {
    this.edit(name, JSON.stringify(spec), (service) => ({ ...service, spec: { ...service.spec, ...spec } }));
  }

  annotate(name: string, key: string, value: string | undefined): void {
    this.edit(name, `${key}=${value ?? ""}`, ({ metadata, ...rest }) => {
      const { [key]: _, ...others } = metadata.annotations ?? {};
      const annotations = value === undefined ? others : { ...others, [key]: value };
      return { ...rest, metadata: { ...metadata, annotations } };
    });
  }

  /** Removes all finalizers, as users do to get rid of a Service quickly. */
  removeFinalizers(name: string): void {
    const service = this.find(name);
    if (service === undefined) return;
    this.finalizersRemoved.add(service.metadata.uid);
    this.edit(name, "no finalizers", ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, finalizers: [] },
    }));
  }

  delete(name: string): void {
    if (this.find(name) === undefined) return;
    this.#history.log(`the Service ${name} is deleted`);
    this.#server.objects.delete(services, "default", name);
  }
}
