// What outlives a manager asks through the connection of whichever one runs: a reload makes another, with metrics, limits
// and perhaps credentials of its own.

import type { WatchApi } from "../../kube/watch/watch.ts";

export function currentConnection(connection: () => WatchApi): WatchApi {
  return {
    get origin() {
      return connection().origin;
    },
    openWatch: (...query) => connection().openWatch(...query),
    listPage: (...query) => connection().listPage(...query),
    whenAnswered: (until) => connection().whenAnswered(until),
  };
}
