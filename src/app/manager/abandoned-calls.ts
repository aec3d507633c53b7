// Replaces the connection to the cloud when a provider did not end a call: what such a call still does must not change the cloud,
// not even when this process leads again.

import { type AbandonedCall, timeToEnd } from "../../cloud/call-guard.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import { formatDuration } from "../../core/duration.ts";
import { messageOf } from "../../core/error-message.ts";
import { shortList } from "../../core/text.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Controllers } from "./compose-controllers.ts";
import type { CurrentClouds } from "./current-clouds.ts";

export interface AbandonedCallsDeps {
  /** The name of the provider. */
  readonly provider: string;
  readonly clouds: CurrentClouds;
  readonly inventory: Inventory;
  readonly composed: Controllers;
  readonly log: Log;
}

export function replaceAfterAbandonedCalls(deps: AbandonedCallsDeps): void {
  const { provider, clouds, inventory, composed, log } = deps;
  clouds.subscribe((call, isCurrent) => {
    log.error(describe(provider, call, inProgress(composed)));
    if (!isCurrent) return;
    try {
      inventory.replaceSources(clouds.renew());
    } catch (error) {
      clouds.close();
      log.error(
        `Cannot connect to the cloud again, so nothing is changed there until the configuration is reloaded or this process is restarted: ${messageOf(error)}`,
      );
    }
  });
}

/** What the workers have not finished, such as `service default/shop`. */
function inProgress({ queues, service }: Controllers): string {
  return shortList(
    Object.entries(queues).flatMap(([name, queue]) =>
      queue.activeKeys.map((key) => `${name} ${queue === service?.queue ? service.nameOf(key) : key}`),
    ),
  );
}

function describe(provider: string, { operation, object, why }: AbandonedCall, keys: string): string {
  const subject = object === "" ? operation : `${operation} (${object})`;
  const wait = `${formatDuration(timeToEnd[why])}`;
  const problem =
    why === "cancelled"
      ? `ignores the cancellation of ${subject}. The call was given up after ${wait}`
      : `has not ended ${subject} on the previous connection to the cloud. The call was given up ${wait} after the connection was replaced`;
  const where = why === "replaced" || keys === "" ? "" : ` In progress: ${keys}.`;
  return `The provider ${provider} ${problem}: its result is discarded, and it cannot change the cloud any more.${where} Report this to the author of the provider.`;
}
