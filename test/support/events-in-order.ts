// The events on a test API server, in the order in which they were created. The server lists them by name.

import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";

/** Call it before the first event is written. */
export function followEvents(server: ApiServer) {
  const created: string[] = [];
  server.onWrite(({ storage, type, object }) => {
    if (storage === "events" && type === "ADDED") created.push(object.metadata.name);
  });
  return (namespace?: string) =>
    server.store
      .list("events", namespace)
      .toSorted((a, b) => created.lastIndexOf(a.metadata.name) - created.lastIndexOf(b.metadata.name));
}
