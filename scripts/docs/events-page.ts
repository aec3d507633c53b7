// docs/events.md from the one list of reasons.

import { inTheLog, ofNetworks, ofTheCloud, onLeases } from "./reasons/all.ts";
import { onNodes } from "./reasons/nodes.ts";
import type { Reason, Reasons } from "./reasons/reason.ts";
import { onServices } from "./reasons/services.ts";

function row([name, { type, when, whatToDo = "", upstream }]: readonly [string, Reason]): string {
  return `| \`${name}\` | ${type} | ${when} | ${whatToDo} | ${upstream === true ? "yes" : ""} |`;
}

function table(reasons: Reasons): string {
  return [
    "| Reason | Type | When | What to do | Upstream's |",
    "|---|---|---|---|---|",
    ...Object.entries(reasons).map(row),
  ].join("\n");
}

/** Of a condition: it has a status and no type. */
function conditions(reasons: Reasons): string {
  return [
    "| Reason | When | What to do | Upstream's |",
    "|---|---|---|---|",
    ...Object.entries(reasons).map((each) => row(each).replace(/ (?:Normal|Warning) \|/, "")),
  ].join("\n");
}

export function eventsPage(): string {
  return `# Events

Made by \`npm run docs\` from the list in \`scripts/docs/reasons\`; never edited by hand. A reason says what is wrong in one word that
never changes its meaning; the message says what was expected, what came and what to do. The same reasons stand in conditions, see
[annotations.md](annotations.md#conditions), and in \`/debug/state\`.

The same thing is said once, until it changes or was mended in between. With \`--mode=observe\` no event is written. Reasons of
upstream's have its words too; what differs is in [differences.md](differences.md#services). Providers may add reasons of their own.

\`\`\`sh
kubectl get events -A --field-selector type=Warning,source=service-controller
\`\`\`

## On Nodes

From \`cloud-node-controller\`, \`cloud-node-lifecycle-controller\` and \`route_controller\`, as with upstream.

${table(onNodes)}

## What the cloud answered

Events on Nodes that join, by kind of error. On Services the event is \`SyncLoadBalancerFailed\` or \`DeleteLoadBalancerFailed\` with the
cloud's words, and this is the reason of the condition.

${table(ofTheCloud)}

## On Services

From \`service-controller\`.

${table(onServices)}

## On the Lease

From \`cloud-controller-manager\`.

${table(onLeases)}

## Of the condition NetworkUnavailable

No events: reasons of the condition on Nodes, where routes are managed.

${conditions(ofNetworks)}

## In the log only

About no single object.

${table(inTheLog)}
`;
}
