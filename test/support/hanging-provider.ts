// The fake provider with calls that never settle, whatever happens to their signal. A test may continue the calls later.

import { minutes } from "#ccm";
import { fake } from "../../providers/fake/index.ts";

type Connect = typeof fake.connect;
type FakeCloud = ReturnType<Connect>;
type Balancers = NonNullable<FakeCloud["loadBalancers"]>;

/** A call that hangs. */
export interface HangingCall {
  /** Continues the call with a signal that is never aborted. The call settles with the result, which is returned. */
  proceed(): Promise<unknown>;
  /** Continues the call with the signal that it has. */
  resume(): Promise<unknown>;
  /** Settles the call with this value, without a request. */
  answer(value: unknown): void;
}

/** Methods that can hang. */
type Name = "apply" | "instances" | "routes";

export class HangingProvider {
  /** Makes the next call of each of these methods hang. */
  readonly hangNext = new Set<Name>();
  readonly hanging: HangingCall[] = [];
  /** How many connections were opened. */
  connections = 0;
  /** The connection of each opened change stream. */
  readonly streams: number[] = [];

  get definition(): unknown {
    return { ...fake, connect: (...args: Parameters<Connect>) => this.#connect(...args) };
  }

  #call<T>(name: Name, begin: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (!this.hangNext.delete(name)) return begin(signal);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const continueWith = (own: AbortSignal): Promise<unknown> => {
      const late = begin(own);
      late.then(resolve, reject);
      return late.catch((error: unknown) => error);
    };
    this.hanging.push({
      proceed: () => continueWith(new AbortController().signal),
      resume: () => continueWith(signal),
      answer: (value) => resolve(value as T),
    });
    return promise;
  }

  async *#pages<P>(
    name: Name,
    list: (signal: AbortSignal) => AsyncIterable<P>,
    signal: AbortSignal,
  ): AsyncIterable<P> {
    await this.#call(name, () => Promise.resolve(), signal);
    yield* list(signal);
  }

  #connect(...args: Parameters<Connect>): FakeCloud {
    this.connections += 1;
    const connection = this.connections;
    const { streams } = this;
    const { instances, loadBalancers, routes } = fake.connect(...args);
    if (
      instances === undefined ||
      loadBalancers === undefined ||
      routes === undefined ||
      !("style" in routes)
    ) {
      throw new Error("The fake cloud has instances, load balancers and one route table.");
    }
    if (routes.style !== "one-by-one") throw new Error("The fake cloud has single routes.");
    const [source] = instances.sources;
    const apply: Balancers["apply"] = (step, call) =>
      this.#call("apply", (signal) => loadBalancers.apply(step, { ...call, signal }), call.signal);
    const listInstances: typeof source.list = (call) =>
      this.#pages("instances", (signal) => source.list({ ...call, signal }), call.signal);
    const listRoutes: typeof routes.list = (call) =>
      this.#pages("routes", (signal) => routes.list({ ...call, signal }), call.signal);
    return {
      instances: { ...instances, sources: [{ ...source, list: listInstances }] },
      loadBalancers: { ...loadBalancers, apply },
      routes: { ...routes, list: listRoutes },
      changes: {
        maxSilence: minutes(1000),
        follow: async function* ({ signal }) {
          streams.push(connection);
          yield [];
          await new Promise<void>((resolve) => {
            if (signal.aborted) resolve();
            else signal.addEventListener("abort", () => resolve(), { once: true });
          });
        },
      },
    };
  }
}
