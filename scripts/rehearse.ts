// `npm run rehearse`: the change from a Go manager to Fairlead and back, with a simulated cloud and a test API server.

import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { commandLine, oneNamed, orFail } from "./command-line.ts";
import { rehearsals } from "./rehearse/clouds/registry.ts";
import { type Act, isClean, rehearse } from "./rehearse/rehearsal.ts";

const names = rehearsals.map(({ name }) => name).join(", ");

const usage = `Usage: npm run rehearse -- --cloud <name> --peer "<command line of the Go manager>"

Runs the peer on a test cluster in a simulated cloud, then Fairlead, then the peer again, with changes of users in between. Nothing outside
this machine is changed. Both managers get the flags of the manifests, and the variables that docs/clouds names for the cloud.
It exits with 1 if Fairlead changes anything when it takes over.

  --cloud <name>   the cloud: ${names} (default: hetzner)
  --peer <text>    command line of the Go manager (default: ${rehearsals.map(({ name, peerVariable }) => `$${peerVariable} for ${name}`).join(", ")})
`;

/** For example "12 POST /load_balancers". */
function counted(changes: readonly string[]): readonly string[] {
  const kinds = [...new Set(changes)].toSorted();
  return kinds.map((kind) => `${changes.filter((each) => each === kind).length} ${kind}`);
}

function report({ title, requests, changes, writes, differences }: Act): void {
  const lines = [
    title,
    `  requests to the cloud: ${requests}, of which ${changes.length} change it`,
    ...counted(changes).map((line) => `    ${line}`),
    `  writes to Nodes and Services: ${writes.length === 0 ? "none" : writes.join(", ")}`,
    `  objects that differ from before: ${differences.length}`,
    ...differences.map((line) => `    ${line.length > 200 ? `${line.slice(0, 200)}…` : line}`),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

const { values } = commandLine(usage, {
  cloud: { type: "string", default: "hetzner" },
  peer: { type: "string" },
});
const cloud = orFail(() => oneNamed("cloud", values.cloud, rehearsals), usage);
const peer = values.peer ?? process.env[cloud.peerVariable] ?? "";
if (peer.trim() === "") {
  process.stdout.write(
    `No peer is given, so nothing was rehearsed. Set ${cloud.peerVariable} or --peer to the command line of the Go manager.\n`,
  );
  process.exit(0);
}
keepLoopbackDirect();
const takeOver = await rehearse({ cloud, peer, isWhole: true, report });
const summary = isClean(takeOver)
  ? "Fairlead took over without a change."
  : "Fairlead changed something when it took over; see above.";
process.stdout.write(`${summary}\n`);
process.exit(isClean(takeOver) ? 0 : 1);
