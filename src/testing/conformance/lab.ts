// A test environment for a provider: a fresh simulated cloud in virtual time, the provider connected to it over a transport
// that can fail, and a record of its requests.

import { getEventListeners } from "node:events";
import { type Milliseconds, minutes, type ServiceUID, seconds } from "../../core/brand.ts";
import { untilMoment } from "../../core/duration.ts";
import { messageOf } from "../../core/error-message.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Fields } from "../../core/settings.ts";
import type { Call, CloudRequest, CloudTransport } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Inputs } from "../../provider/inputs.ts";
import type { DesiredLoadBalancer } from "../../provider/load-balancers.ts";
import type { Facts } from "../../provider/plan.ts";
import type {
  Account,
  AnyCloud,
  AnyProvider,
  Context,
  Fetched,
  OpenAccount,
} from "../../provider/provider.ts";
import { DeadlineError } from "../../runtime/deadline.ts";
import { VirtualClock } from "../virtual-time/virtual-clock.ts";
import { FaultyTransport } from "./faulty-transport.ts";
import type { Harness, SimulatedCloud } from "./simulated-cloud.ts";

/** Inputs without any file. */
export const noInputs: Inputs = { file: () => undefined };

const callTimeout: Milliseconds = seconds(30);

/** A provider connected to its simulated cloud. `connect` again simulates a restart of the process: the cloud stays. */
export class Lab {
  readonly clock = new VirtualClock();
  readonly simulated: SimulatedCloud;
  readonly faulty: FaultyTransport;
  /** Every request, with the provider's declaration of whether it mutates. */
  readonly requests: CloudRequest[] = [];
  /** Operations that changed the cloud's state although they were declared as reads. */
  readonly undeclaredMutations: string[] = [];
  /** The facts of each Service, which outlive the provider's process like annotations. */
  readonly savedFacts = new Map<ServiceUID, Facts>();
  /** The existing Services, for clouds where Services have the mark. */
  readonly services = new Map<ServiceUID, DesiredLoadBalancer<Fields>["owner"]>();
  /** Abort listeners that calls did not remove from their signal. */
  leakedListeners = 0;
  cloud: AnyCloud;
  readonly #harness: Harness;

  constructor(harness: Harness) {
    this.#harness = harness;
    this.simulated = harness.simulate(this.clock);
    this.faulty = new FaultyTransport(this.simulated.transport);
    this.cloud = this.connect();
  }

  get reasons(): AnyProvider["reasons"] {
    return this.#harness.definition.reasons;
  }

  /** Throws if the provider has no load balancers. */
  get loadBalancers(): NonNullable<AnyCloud["loadBalancers"]> {
    const { loadBalancers } = this.cloud;
    if (loadBalancers === undefined) throw new Error("This provider has no load balancers.");
    return loadBalancers;
  }

  /** The cloud's state as text, after completing all work that is due. */
  get state(): string {
    this.simulated.settle?.();
    return JSON.stringify(this.simulated.state());
  }

  /** The number of requests that were declared as mutating. */
  get mutations(): number {
    return this.requests.filter(({ mutates }) => mutates).length;
  }

  /** Connects a new instance of the provider, as after a restart. */
  connect(cluster = "conformance"): AnyCloud {
    const { definition, config } = this.#harness;
    const { values, problems } = readSettings(definition.config, config, { what: "setting" });
    if (problems.length > 0) throw new Error(problems.map(({ text }) => text).join("\n"));
    const context: Context = {
      account: (account) => this.#open(account),
      inputs: this.#harness.inputs ?? noInputs,
      readSecret: async ({ namespace, name }) => this.#harness.secrets?.[`${namespace}/${name}`],
      announce: () => undefined,
      mark: { cluster, owner: "fairlead", clusterUID: `uid-of-${cluster}` },
    };
    this.cloud = definition.connect(values, context);
    return this.cloud;
  }

  /** Runs the work to its end in virtual time, with a deadline as in production. */
  async run<T>(work: (call: Call) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const { signal } = controller;
    const cancel = this.clock.after(callTimeout, () =>
      controller.abort(new DeadlineError("The cloud", callTimeout)),
    );
    let isDone = false;
    const done = work({ signal, urgency: "refresh" }).finally(() => {
      isDone = true;
    });
    // `return done` rethrows the error; without this, an earlier rejection would count as unhandled.
    done.catch(() => {});
    await this.clock.until(() => isDone, minutes(10), "a call to end");
    cancel();
    this.faulty.endCall();
    this.leakedListeners += getEventListeners(signal, "abort").length;
    return done;
  }

  /** All entries of a listing, from every page. */
  async list<T>(pages: (call: Call) => AsyncIterable<readonly T[]>): Promise<T[]> {
    return this.run(async (call) => (await collect(pages(call))).flat());
  }

  #open<T>(account: Account<T>): OpenAccount<T> {
    const send = async <R>(
      request: CloudRequest,
      call: Call,
      read: (response: Response) => Promise<R>,
    ): Promise<R> => {
      this.requests.push(request);
      // Comparing states costs more than the request, so runs with faults skip the comparison.
      const isCompared = !request.mutates && !this.faulty.isDisturbed;
      const before = isCompared ? this.state : "";
      const response = await this.faulty.transport(request, call.signal);
      if (isCompared && this.state !== before) this.undeclaredMutations.push(request.operation);
      return read(response);
    };
    const credential = new LabCredential(this.clock, (call) => account.fetch(send, call));
    const sign = async (request: CloudRequest, call: Call): Promise<CloudRequest> =>
      account.sign(request, await credential.current(call), this.clock.now());
    const transport: CloudTransport = async (request, call, read) => {
      const signed = await sign(request, call);
      try {
        return await send(signed, call, read);
      } catch (error) {
        if (!CloudError.is(error) || error.kind !== "unauthorized") throw error;
        // As in the framework, repeated once with a new credential.
        credential.discard();
        return send(await sign(request, call), call, read);
      }
    };
    const { socket } = this.simulated;
    const messages = async function* (request: CloudRequest, call: Call): AsyncIterable<string> {
      if (socket === undefined) throw new Error("The simulated cloud has no `socket`.");
      try {
        yield* socket(await sign(request, call), call.signal);
      } catch (error) {
        const { operation } = request;
        throw call.signal.aborted ? error : new CloudError("unavailable", messageOf(error), { operation });
      }
    };
    return { transport, messages, credential: (call) => credential.current(call) };
  }
}

/** A credential that is fetched again after it failed, was rejected or expired. */
class LabCredential<T> {
  readonly #clock: VirtualClock;
  readonly #fetch: (call: Call) => Promise<Fetched<T>>;
  #fetched: { readonly value: Promise<T>; endsAt: number } | undefined;

  constructor(clock: VirtualClock, fetch: (call: Call) => Promise<Fetched<T>>) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  current(call: Call): Promise<T> {
    if (this.#fetched !== undefined && this.#clock.monotonic() < this.#fetched.endsAt)
      return this.#fetched.value;
    const fetching = this.#fetch(call);
    const fetched = { value: fetching.then(({ value }) => value), endsAt: Number.POSITIVE_INFINITY };
    this.#fetched = fetched;
    fetching.then(
      ({ goodUntil }) => {
        if (goodUntil !== undefined)
          fetched.endsAt = this.#clock.monotonic() + untilMoment(goodUntil, this.#clock.now());
      },
      () => {
        if (this.#fetched === fetched) this.discard();
      },
    );
    return fetched.value;
  }

  discard(): void {
    this.#fetched = undefined;
  }
}

/**
 * Returns the error of `work`. Not `expect(…).rejects`: if the error needs a turn of the event loop, as in all virtual-time work,
 * Bun waits in real time until any timer of the process fires.
 */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("A failure was expected, but the work succeeded.");
}

/** All pages of a listing. */
export async function collect<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(page);
  return all;
}
