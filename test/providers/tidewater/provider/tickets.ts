// Tickets: a change that was accepted is in progress until its ticket has settled or failed.

import { CloudError, inProgress, type JobState, operationOf, pendingJobs } from "#ccm";
import { type ApiTicket, kindOf, type ZoneApis } from "./api.ts";

/** Names of Nodes by address, because a ticket names the members that it rejects by address. */
export type Nodes = Readonly<Record<string, string>>;

/** The job of an operation, as JSON. */
type Job = Readonly<{ zone: string; ticket: string; nodes: Nodes }>;

export function waitForTicket(zone: string, ticket: string, waitingFor: string, nodes: Nodes = {}) {
  const job = JSON.stringify({ zone, ticket, nodes } satisfies Job);
  return inProgress(waitingFor, { operation: operationOf({ job, owners: [], waitingFor }) });
}

function stateOf({ ticket, phase, rejected, fault }: ApiTicket, nodes: Nodes): JobState {
  if (phase === "running") return "running";
  if (phase === "failed") {
    const text = `Ticket ${ticket} failed: ${fault?.text}`;
    return new CloudError(kindOf(fault?.code ?? "") ?? "conflict", text, { operation: "GET /tickets" });
  }
  const refused = rejected.flatMap(({ address, code, text }) => {
    const node = nodes[address];
    return node === undefined ? [] : { node, text: `${code}: ${text}` };
  });
  return { facts: {}, refused };
}

export function pendingTickets(apis: ZoneApis) {
  return pendingJobs({ limit: 10 }, async (ids, call) => {
    const jobs = ids.map((id) => ({ id, ...(JSON.parse(id) as Job) }));
    const states = new Map<string, JobState>();
    for (const api of Object.values(apis)) {
      const own = jobs.filter(({ zone }) => zone === api.zone);
      if (own.length === 0) continue;
      const asked = own.map(({ ticket }) => ticket);
      const tickets = await api.tickets(asked, call);
      for (const { id, ticket, nodes } of own) {
        const found = tickets.find((one) => one.ticket === ticket);
        if (found !== undefined) states.set(id, stateOf(found, nodes));
      }
    }
    return states;
  });
}
