// Load on /metrics of a running manager, and how late its Lease is renewed meanwhile. Started by hand:
// `bun scripts/bench/scrape.ts URL TOKEN KUBECONFIG LEASE [SECONDS] [RATE]`. It asserts nothing.

import { leases } from "../../src/kube/resources.ts";
import { connect, never } from "../../test/kube/cluster/connect.ts";

const [url = "", token = "", kubeconfig = "", lease = "cloud-controller-manager", span = "15", rate = "500"] =
  process.argv.slice(2);
if (url === "" || kubeconfig === "") {
  process.stderr.write("Expected: scrape.ts URL TOKEN KUBECONFIG LEASE [SECONDS] [RATE]\n");
  process.exit(2);
}

const api = await connect(kubeconfig);
const renewals: number[] = [];
let last = "";
const look = async (): Promise<void> => {
  const found = await api.get(leases, { namespace: "kube-system", name: lease }, never);
  const renewed = found.spec?.renewTime ?? "";
  if (renewed !== last) renewals.push(Date.parse(renewed));
  last = renewed;
};

const latencies: number[] = [];
const failures = new Map<string, number>();
const ask = async (): Promise<void> => {
  const began = performance.now();
  try {
    const headers = { authorization: `Bearer ${token}` };
    const reply = await fetch(url, { headers, tls: { rejectUnauthorized: false } });
    await reply.text();
    if (!reply.ok) failures.set(String(reply.status), (failures.get(String(reply.status)) ?? 0) + 1);
    latencies.push(performance.now() - began);
  } catch (error) {
    failures.set(String(error), (failures.get(String(error)) ?? 0) + 1);
  }
};

const began = performance.now();
const pending: Promise<void>[] = [];
for (let sent = 0; performance.now() - began < Number(span) * 1000; ) {
  const due = ((performance.now() - began) / 1000) * Number(rate);
  for (; sent < due; sent += 1) pending.push(ask());
  if (pending.length % 50 === 0) await look();
  await Bun.sleep(5);
}
await Promise.all(pending);
await look();
const gaps = renewals.slice(1).map((at, index) => (at - (renewals[index] ?? at)) / 1000);
const sorted = latencies.toSorted((a, b) => a - b);
const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
process.stdout.write(
  `${latencies.length} answers in ${span} s, ${[...failures].map(([what, count]) => `${count} × ${what}`).join(", ") || "none failed"}\n` +
    `latency in ms: median ${at(0.5)}, p99 ${at(0.99)}, most ${at(1 - 1e-9)}\n` +
    `${renewals.length} renewals of the Lease; seconds between two: ${gaps.map((gap) => gap.toFixed(2)).join(" ")}\n`,
);
process.exit(0);
