// A complete list in pages, for servers without streaming lists.

import { milliseconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { sleep } from "../../platform/clock.ts";
import type { KubeObject } from "../objects.ts";
import type { WatchOptions, WatchPosition, WatchStep } from "./watch-step.ts";

const pageSize = 500;

export async function* listPages<T extends KubeObject>(
  { api, resource, clock, namespace, labelSelector, fieldSelector, collectGarbage }: WatchOptions<T>,
  position: WatchPosition,
  signal: AbortSignal,
): AsyncGenerator<WatchStep<T>, void> {
  yield { type: "begin" };
  const options = { limit: pageSize, ...defined({ namespace, labelSelector, fieldSelector }) };
  let token: string | undefined;
  for (;;) {
    const page = await api.listPage(resource, { ...options, ...defined({ continue: token }) }, signal);
    for (const object of page.items) yield { type: "object", object, initial: true };
    token = page.continue;
    if (token === undefined) {
      position.resourceVersion = page.resourceVersion;
      position.hasProgressed = true;
      yield { type: "complete", resourceVersion: page.resourceVersion };
      return;
    }
    // A page is some 20 MB of text and objects, nearly all garbage. Without this, ten pages pile up before they are
    // collected: 171 MiB with 15,000 nodes instead of 100.
    collectGarbage?.();
    await sleep(clock, milliseconds(0), signal);
  }
}
