// Records when a watch first delivers each object of a selection. It reads only names, to save processor time. A
// watch that ends or goes silent is reopened from its last resource version.

import type { KubeApi } from "../../src/kube/client/api.ts";
import type { KubeObject } from "../../src/kube/objects.ts";
import type { Resource } from "../../src/kube/resources.ts";
import { NameReader } from "./read-names.ts";

/** The watch starts with the existing objects, then continues with changes. */
const fromStart = "0";
const retryDelayMs = 200;
/** During a benchmark changes arrive all the time, so a watch that is silent for longer is reopened. */
const maxSilenceMs = 15_000;

interface Selection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The text that selects the object of a watch line. If absent, every line selects its object. */
  readonly text?: string;
}

/** Follows the names in a watch. Disposing this closes the watch. */
export class FollowedNames<T extends KubeObject> implements Disposable {
  readonly #api: KubeApi;
  readonly #resource: Resource<T>;
  readonly #selection: Selection;
  readonly #stop = new AbortController();
  readonly #opened = Promise.withResolvers<void>();
  readonly #seenAt = new Map<string, number>();
  #openings = 0;
  #resourceVersion = fromStart;

  constructor(api: KubeApi, resource: Resource<T>, selection: Selection) {
    this.#api = api;
    this.#resource = resource;
    this.#selection = selection;
    this.#follow().catch((error: unknown) => this.#opened.reject(error));
  }

  /** Resolves once the watch is open for the first time. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Values of performance.now(), by name. */
  get seenAt(): ReadonlyMap<string, number> {
    return this.#seenAt;
  }

  /**
   * The number of times that the watch was opened. With more than one, the figures may measure the watch instead of the manager.
   */
  get openings(): number {
    return this.#openings;
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }

  async #follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#watch();
      } catch (error) {
        if (this.#openings === 0 && !this.#stop.signal.aborted) throw error;
        await Bun.sleep(retryDelayMs);
      }
    }
  }

  async #watch(): Promise<void> {
    const { text = "", ...selector } = this.#selection;
    const { signal } = this.#stop;
    const query = {
      watch: true,
      resourceVersion: this.#resourceVersion,
      timeoutSeconds: 3600,
      ...selector,
    };
    const stream = await this.#api.openWatch(this.#resource, { query }, signal);
    this.#openings += 1;
    this.#opened.resolve();
    signal.addEventListener("abort", stream.close, { once: true });
    const reader = new NameReader();
    const closeAfterSilence = () => setTimeout(() => stream.close(), maxSilenceMs);
    let timer = closeAfterSilence();
    try {
      for await (const chunk of stream.body) {
        clearTimeout(timer);
        timer = closeAfterSilence();
        const now = performance.now();
        for (const line of reader.read(chunk)) {
          // At first nothing matches a selector, so lines arrive in the order of their resource versions.
          this.#resourceVersion = line === "gone" ? fromStart : line.resourceVersion;
          if (line !== "gone" && line.text.includes(text) && !this.#seenAt.has(line.name))
            this.#seenAt.set(line.name, now);
        }
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stream.close);
      stream.close();
    }
  }
}
