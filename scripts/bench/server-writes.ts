// Reads the API server's own counts of writes from its metrics, to distinguish a slow manager from a slow observer. Pure.

export interface ServerWrites {
  /** Patches of Nodes, without those of their status. */
  readonly nodes: number;
  readonly events: number;
}

const counter = /^apiserver_request_total\{([^}]*)\} (\S+)$/;
function label(labels: string, name: string): string | undefined {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1];
}

export function readServerWrites(page: string): ServerWrites {
  const count = { nodes: 0, events: 0 };
  for (const line of page.split("\n")) {
    const [, labels = "", value = ""] = counter.exec(line) ?? [];
    if (!label(labels, "code")?.startsWith("2") || label(labels, "subresource") !== "") continue;
    const what = `${label(labels, "verb")} ${label(labels, "resource")}`;
    if (what === "PATCH nodes") count.nodes += Number(value);
    if (what === "POST events") count.events += Number(value);
  }
  return count;
}
