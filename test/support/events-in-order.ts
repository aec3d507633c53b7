// The events on a test API server, in the order in which they were created. The server lists them by name.

import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";

/** Starts to follow events. Call this before the first event is written. */
export function followEvents(server: ApiServer) {
  /** Positions by name: an event that was deleted and created again counts from its last creation. */
  const positions = new Map<string, number>();
  const positionOf = (event: { readonly metadata: { readonly name: string } }) =>
    positions.get(event.metadata.name) ?? -1;
  let created = 0;
  server.onWrite(({ storage, type, object }) => {
    if (storage === "events" && type === "ADDED") positions.set(object.metadata.name, created++);
  });
  return (namespace?: string) =>
    server.store.list("events", namespace).toSorted((a, b) => positionOf(a) - positionOf(b));
}
