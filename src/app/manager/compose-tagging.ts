// Composes the tagging controller.

import { journalledCloudSend } from "../../controllers/kernel/journalled-send.ts";
import { TaggingController } from "../../controllers/tagging/controller.ts";
import { TaggingHistory } from "../../controllers/tagging/history.ts";
import type { Problem } from "../../core/problem.ts";
import { logProblem } from "../leadership/hold-release.ts";
import { nodeDeps } from "./compose-nodes.ts";
import type { Composer, ControllerContext, HistoryContext } from "./controller-context.ts";

/** Composes nothing unless the controller is enabled and the cloud supports tags. */
export function taggingComposer(kept: HistoryContext): Composer<TaggingController | undefined> {
  const history = kept.controllers.has("tagging") ? new TaggingHistory(kept) : undefined;
  return (context) => history && composeTagging(context, history);
}

function composeTagging(context: ControllerContext, history: TaggingHistory): TaggingController | undefined {
  const { clock, journal, log, connected, settings, reportOnLease } = context;
  const { machineTags } = connected.cloud;
  if (machineTags === undefined) {
    log.warn(
      "The controller tagging does not run: the cloud has no tags to give. Set --tags and --resources where the cloud has them, or remove tagging from --controllers.",
    );
    return undefined;
  }
  const deps = {
    ...nodeDeps(context, "tagging-controller"),
    tags: machineTags,
    send: journalledCloudSend({ journal, clock, mode: settings.flags.mode }),
    reportTags: (problem: Problem) => {
      logProblem(problem, log);
      reportOnLease("tagging", problem);
    },
  };
  return new TaggingController(deps, history);
}
