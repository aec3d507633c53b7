// Finds out whether a name that the server refuses is that of an external service. Services that are refused together share a request.

import type { Call } from "#ccm";
import { collect, type RancherApi } from "../api/client.ts";
import type { ApiExternalService } from "../api/resources.ts";

export class ExternalNames {
  readonly #api: RancherApi;
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(api: RancherApi) {
    this.#api = api;
  }

  /** In any case, as names are unique. Also while it is being removed. */
  has(name: string, stackID: string | undefined, call: Call): Promise<boolean> {
    const key = `${stackID} ${name.toLowerCase()}`;
    const running =
      this.#running.get(key) ??
      this.#read(name.toLowerCase(), stackID, call).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #read(name: string, stackID: string | undefined, call: Call): Promise<boolean> {
    const named = await collect(this.#api.list<ApiExternalService>("externalService", call, { name }));
    return named.some((one) => one.stackId === stackID && one.name.toLowerCase() === name);
  }
}
