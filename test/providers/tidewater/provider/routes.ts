// The route table of one zone, as one document. Entries of the cluster are recognized by their note.

import { CloudError, type Context, type NamedRoutes, type ObservedRoute, parseCidr, seconds } from "#ccm";
import type { ApiEntry, ZoneApi } from "./api.ts";
import { waitForTicket } from "./tickets.ts";

const operation = "POST /table/changes";

export function routeTable(api: ZoneApi, mark: Context["mark"]): NamedRoutes {
  const { zone } = api;
  const ownNote = `${mark.owner} ${mark.cluster}`;
  // The table names targets by address, so the note begins with the id of the machine.
  const toObserved = ({ to, note }: ApiEntry): readonly ObservedRoute[] => {
    const destination = parseCidr(to);
    if (destination === undefined) return [];
    const [targetKey, ...rest] = note.split(" ");
    const ownership = rest.join(" ") === ownNote ? "marked" : "foreign";
    return [{ handle: to, destination, targetKey, ownership }];
  };
  return {
    name: zone,
    style: "document",
    families: ["IPv4"],
    limit: 40,
    readsLag: seconds(2),
    serves: ({ machine }) => machine?.source === zone,
    read: async (call) => {
      const { stamp, entries } = await api.table(call);
      return { revision: stamp, routes: entries.flatMap(toObserved) };
    },
    change: async ({ create, remove }, { revision }, call) => {
      const add = create.map(({ destination, target }) => {
        const { key = "", handles } = target.machine ?? {};
        const hop = handles?.["address"];
        if (hop === undefined) {
          const text = `No route to Node ${target.node}: the address of its machine is not known yet.`;
          throw new CloudError("unavailable", text, { operation });
        }
        return { to: destination, hop, note: `${key} ${ownNote}` };
      });
      const body = { stamp: revision, drop: remove.map(({ handle }) => handle), add };
      const request = { operation, method: "POST", path: "/table/changes", body } as const;
      return waitForTicket(zone, await api.change(request, call), `the route table of zone ${zone}`);
    },
  };
}
