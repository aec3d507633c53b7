// Composes the tagging controller.

import { TaggingController } from "../../controllers/tagging/controller.ts";
import { journalledCloudSend } from "../../controllers/writes/journalled-send.ts";
import { nodeDeps } from "./compose-nodes.ts";
import type { ControllerContext } from "./controller-context.ts";

/** Undefined unless it is enabled and the cloud has tags to give. */
export function composeTagging(context: ControllerContext): TaggingController | undefined {
  const { clock, journal, log, connected, settings, reportOnLease } = context;
  const { machineTags } = connected.cloud;
  if (!settings.controllers.has("tagging")) return undefined;
  if (machineTags === undefined) {
    log.warn(
      "The controller tagging does not run: the cloud has no tags to give. Set --tags and --resources where the cloud has them, or remove tagging from --controllers.",
    );
    return undefined;
  }
  return new TaggingController({
    ...nodeDeps(context, "tagging-controller"),
    tags: machineTags,
    send: journalledCloudSend({ journal, clock, mode: settings.flags.mode }),
    reportTags: (event) => {
      log.warn(event.message, { reason: event.reason });
      reportOnLease("tagging", event);
    },
  });
}
