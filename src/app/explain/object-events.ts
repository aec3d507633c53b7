// The events of one object, as the API server keeps them: what the running manager has reported lately.

import type { KubeApi } from "../../kube/client/api.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { events } from "../../kube/resources.ts";
import { type DescribedEvent, type DescribedKind, maxEvents } from "../describe/description.ts";

/** The newest first; the text instead, if they cannot be read. */
export async function eventsOf(
  api: Pick<KubeApi, "listPage">,
  kind: DescribedKind,
  name: string,
  signal: AbortSignal,
): Promise<readonly DescribedEvent[] | string> {
  const [namespace, bare] = kind === "Node" ? ["default", name] : name.split("/");
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${bare}`;
  try {
    const { items } = await api.listPage(
      events,
      { namespace: namespace ?? "", fieldSelector, limit: 500 },
      signal,
    );
    return items
      .map(
        ({
          type = "Normal",
          reason = "",
          message = "",
          count = 1,
          lastTimestamp,
          eventTime,
          source,
          metadata,
        }) => ({
          at: lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "",
          ...{ type, reason, message, count },
          source: source?.component ?? "",
        }),
      )
      .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
      .slice(0, maxEvents);
  } catch (error) {
    if (isKubeError(error)) return `its events: ${error.message}`;
    throw error;
  }
}
