// Reads the API server's own counts of requests from its metrics, to distinguish a slow manager
// from a slow observer, and to show the cost of a manager for the server. Pure.

export interface ServerRequests {
  /** Patches of Nodes, without those of their status. */
  readonly nodes: number;
  readonly events: number;
  /** Reads of Nodes, Services and events, including rejected ones; without watches. */
  readonly reads: number;
  readonly writes: number;
}

const counter = /^apiserver_request_total\{([^}]*)\} (\S+)$/;
function label(labels: string, name: string): string | undefined {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1];
}

const resources = ["nodes", "services", "events"];
const writes = ["POST", "PUT", "PATCH", "DELETE"];

export function readServerRequests(page: string): ServerRequests {
  const count = { nodes: 0, events: 0, reads: 0, writes: 0 };
  for (const line of page.split("\n")) {
    const [, labels = "", text = ""] = counter.exec(line) ?? [];
    const [verb = "", resource = "", subresource, code] = ["verb", "resource", "subresource", "code"].map(
      (name) => label(labels, name),
    );
    const value = Number(text);
    if (resources.includes(resource) && verb !== "WATCH")
      count[writes.includes(verb) ? "writes" : "reads"] += value;
    if (code?.startsWith("2") !== true || subresource !== "") continue;
    if (verb === "PATCH" && resource === "nodes") count.nodes += value;
    if (verb === "POST" && resource === "events") count.events += value;
  }
  return count;
}
