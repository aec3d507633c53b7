// Finds out whether something else than an external service has a name that the server refuses. Services that are refused together
// share a request.

import type { Call } from "#ccm";
import { collect, type RancherApi } from "../api/client.ts";
import type { ApiService } from "../api/resources.ts";

export class TakenNames {
  readonly #api: RancherApi;
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(api: RancherApi) {
    this.#api = api;
  }

  /** Only what is listed counts: a name that is not found may be free again. */
  isOfOtherKind(name: string, stackID: string | undefined, call: Call): Promise<boolean> {
    const key = `${stackID} ${name.toLowerCase()}`;
    const running =
      this.#running.get(key) ??
      this.#read(name.toLowerCase(), stackID, call).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #read(name: string, stackID: string | undefined, call: Call): Promise<boolean> {
    const named = await collect(this.#api.list<ApiService>("service", call, { name }));
    return named.some(
      (one) => one.stackId === stackID && one.name.toLowerCase() === name && one.type !== "externalService",
    );
  }
}
