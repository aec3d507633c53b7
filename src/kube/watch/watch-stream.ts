// Reads one watch connection: bytes to lines to slimmed events, with a limit on silence. One connection only;
// what comes before and after it is decided in `watch.ts`.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { abortable, linkedController } from "../../runtime/abortable.ts";
import { KubeError } from "../errors/kube-error.ts";
import { readStatus, statusError } from "../errors/status-error.ts";
import { transportError } from "../errors/transport-error.ts";
import type { KubeObject } from "../objects.ts";
import type { OpenStream } from "../requests/request.ts";
import type { Resource } from "../resources.ts";
import { LineDecoder } from "./line-decoder.ts";
import { createPacer } from "./pacer.ts";

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
  /** Asked before each wait: how long nothing may come. */
  readonly longestSilence: () => Milliseconds;
}

const endMark = "k8s.io/initial-events-end";

/** Thrown when nothing came for too long. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";
}

export async function* readWatchStream<T extends KubeObject>(
  stream: OpenStream,
  { resource, origin, clock, longestSilence }: WatchStreamOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void> {
  const facts = { operation: `watch ${resource.plural}` };
  const reader = stream.body.getReader();
  const lines = new LineDecoder();
  const pacer = createPacer(clock);

  const decode = (line: string): WatchEvent<T> | undefined => {
    let event: WireEvent<T>;
    stream.decoded(line.length);
    try {
      event = JSON.parse(line) as WireEvent<T>;
    } catch (cause) {
      throw new KubeError(
        "unexpected",
        `A watch of ${resource.plural} sent a line that is not JSON. We list anew.`,
        { ...facts, cause },
      );
    }
    const { type, object } = event;
    if (type === "ERROR") {
      const status = readStatus(JSON.stringify(object ?? {}));
      throw statusError(status?.code ?? 500, status, facts);
    }
    if (object?.metadata === undefined) return undefined;
    if (type === "BOOKMARK") {
      const { resourceVersion, annotations } = object.metadata;
      return { type: "bookmark", resourceVersion, endsInitial: annotations?.[endMark] === "true" };
    }
    if (type === "ADDED" || type === "MODIFIED") return { type: "changed", object: resource.slim(object) };
    return type === "DELETED" ? { type: "deleted", object: resource.slim(object) } : undefined;
  };

  const read = async () => {
    const { controller, unlink } = linkedController(signal);
    const silence = longestSilence();
    const cancel = clock.after(milliseconds(Math.max(0, silence)), () =>
      controller.abort(new SilenceError(`A watch of ${resource.plural} was silent for ${silence / 1000} s.`)),
    );
    try {
      return await abortable(reader.read(), controller.signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof SilenceError) throw error;
      throw transportError(error, origin, facts);
    } finally {
      cancel();
      unlink();
    }
  };

  try {
    for (;;) {
      const { done, value } = await read();
      if (done) break;
      for (const line of lines.push(value)) {
        const event = decode(line);
        if (event !== undefined) yield event;
        const pause = pacer.pause(signal);
        if (pause !== undefined) await pause;
      }
    }
    if (lines.isCut) {
      throw new KubeError(
        "unreachable",
        `A watch of ${resource.plural} was cut in the middle of an object. We go on from the last whole one.`,
        facts,
      );
    }
  } finally {
    stream.close();
    // Already failed or closed streams reject; there is nothing left to tell them.
    reader.cancel().catch(() => {});
  }
}
