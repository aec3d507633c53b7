// Reads one watch connection: bytes to lines to slimmed events, with a limit on silence.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { abortable, linkedController } from "../../runtime/abortable.ts";
import { KubeError } from "../errors/kube-error.ts";
import { readStatus, statusError } from "../errors/status-error.ts";
import { transportError } from "../errors/transport-error.ts";
import type { KubeObject } from "../objects.ts";
import type { OpenStream } from "../requests/request.ts";
import type { Resource } from "../resources.ts";
import { LineDecoder } from "./line-decoder.ts";

export type WatchEvent<T> =
  | { readonly type: "changed" | "deleted"; readonly object: T }
  | { readonly type: "bookmark"; readonly resourceVersion: string; readonly endsInitial: boolean };

interface WireEvent<T> {
  readonly type?: string;
  readonly object?: T;
}

export interface WatchStreamOptions<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly origin: string;
  readonly clock: Clock;
  /** Called before each read; returns how long the server may be silent. */
  readonly silenceLimit: () => Milliseconds;
}

const initialEventsEnd = "k8s.io/initial-events-end";

export class SilenceError extends Error {
  override readonly name = "SilenceError";
}

const factsOf = (resource: Resource<KubeObject>) => ({ operation: `watch ${resource.plural}` });

function parseEvent<T extends KubeObject>(line: string, resource: Resource<T>): WatchEvent<T> | undefined {
  let event: WireEvent<T>;
  try {
    event = JSON.parse(line) as WireEvent<T>;
  } catch (cause) {
    throw new KubeError(
      "unexpected",
      `A watch of ${resource.plural} received a line that is not JSON. Fairlead will list again.`,
      { ...factsOf(resource), cause },
    );
  }
  const { type, object } = event;
  if (type === "ERROR") {
    const status = readStatus(JSON.stringify(object ?? {}));
    throw statusError(status?.code ?? 500, status, factsOf(resource));
  }
  if (object?.metadata === undefined) return undefined;
  if (type === "BOOKMARK") {
    const { resourceVersion, annotations } = object.metadata;
    return { type: "bookmark", resourceVersion, endsInitial: annotations?.[initialEventsEnd] === "true" };
  }
  if (type === "ADDED" || type === "MODIFIED") return { type: "changed", object: resource.slim(object) };
  return type === "DELETED" ? { type: "deleted", object: resource.slim(object) } : undefined;
}

export async function* readWatchStream<T extends KubeObject>(
  stream: OpenStream,
  { resource, origin, clock, silenceLimit }: WatchStreamOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void> {
  const reader = stream.body.getReader();
  const lines = new LineDecoder();
  const pacer = new Pacer(clock);
  const { controller, unlink } = linkedController(signal);

  const read = async () => {
    const began = clock.monotonic();
    const limit = silenceLimit();
    const cancel = clock.after(milliseconds(Math.max(0, limit)), () =>
      controller.abort(
        new SilenceError(`A watch of ${resource.plural} was silent for ${formatDuration(limit)}.`),
      ),
    );
    try {
      return await abortable(reader.read(), controller.signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof SilenceError) throw error;
      throw transportError(error, origin, factsOf(resource));
    } finally {
      cancel();
      pacer.waitedSince(began);
    }
  };

  try {
    for (;;) {
      const { done, value } = await read();
      if (done) break;
      for (const line of lines.push(value)) {
        stream.decoded(line.length);
        const event = parseEvent(line, resource);
        if (event !== undefined) yield event;
        const pause = pacer.pause(signal);
        if (pause !== undefined) await pause;
      }
    }
    if (lines.isCut) {
      throw new KubeError(
        "unreachable",
        `A watch of ${resource.plural} ended in the middle of an object. Fairlead will resume after the last complete object.`,
        factsOf(resource),
      );
    }
  } finally {
    unlink();
    stream.close();
    // Cancelling a stream that has already failed or closed rejects.
    reader.cancel().catch(() => {});
  }
}

/** Lets timers and other connections run while a long stream is decoded. */
class Pacer {
  readonly #clock: Clock;
  readonly #maxRun = milliseconds(15);
  #resumedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#resumedAt = clock.monotonic();
  }

  /** Other work ran during a long wait, so a single event needs no pause. Data that has already arrived is read immediately. */
  waitedSince(began: number): void {
    const now = this.#clock.monotonic();
    if (now - began >= this.#maxRun) this.#resumedAt = now;
  }

  /** A promise to await if the work has run for long enough; undefined otherwise, because each await costs time. */
  pause(signal: AbortSignal): Promise<void> | undefined {
    if (this.#clock.monotonic() - this.#resumedAt < this.#maxRun) return undefined;
    return sleep(this.#clock, milliseconds(0), signal).then(() => {
      this.#resumedAt = this.#clock.monotonic();
    });
  }
}
