// Tickets: a change that was accepted is in progress until its ticket has settled or failed.

import { CloudError, inProgress, type JobState, operationOf, pendingJobs } from "#ccm";
import { type ApiTicket, kindOf, type ZoneApis } from "./api.ts";

/** Names of Nodes by address, because a ticket names the members that it rejects by address. */
export type Nodes = Readonly<Record<string, string>>;

export function waitForTicket(zone: string, ticket: string, waitingFor: string, nodes?: Nodes) {
  const operation = operationOf({ job: `${zone}/${ticket}`, owners: [], waitingFor, members: nodes });
  return inProgress(waitingFor, { operation });
}

function stateOf({ ticket, phase, rejected, fault }: ApiTicket): JobState {
  if (phase === "running") return "running";
  if (phase === "failed") {
    const text = `Ticket ${ticket} failed: ${fault?.text}`;
    return new CloudError(kindOf(fault?.code ?? "") ?? "conflict", text, { operation: "GET /tickets" });
  }
  const refused = rejected.map(({ address, code, text }) => ({ node: address, text: `${code}: ${text}` }));
  return { facts: {}, refused };
}

export function pendingTickets(apis: ZoneApis) {
  const partOf = (job: string) => job.split("/")[0] ?? "";
  return pendingJobs({ limit: 10, partOf }, async (jobs, call) => {
    const states = new Map<string, JobState>();
    for (const { zone, tickets } of Object.values(apis)) {
      const prefix = `${zone}/`;
      const asked = jobs.flatMap((job) => (job.startsWith(prefix) ? job.slice(prefix.length) : []));
      if (asked.length === 0) continue;
      for (const ticket of await tickets(asked, call)) states.set(prefix + ticket.ticket, stateOf(ticket));
    }
    return states;
  });
}
