import { expect, test } from "bun:test";
import { addReportMetrics } from "../../../src/app/metrics/report-metrics.ts";
import type { ManagerReport } from "../../../src/app/report/manager-report.ts";
import { Metrics } from "../../../src/telemetry/metrics.ts";

// Gauges that are read from the manager's report. Gauges for alerts count objects that need attention, only on the leader.

type Found = ManagerReport["findings"][number];
const finding = (
  object: Found["object"],
  severity: Found["severity"],
  name: string,
  reason: string,
): Found => ({
  object,
  severity,
  name,
  reason,
  text: "Because.",
});
const onHold = (name: string, reason: string) => finding("Node", "hold", name, reason);
const ofNode = (name: string, reason: string) => finding("Node", "error", name, reason);
const ofService = (name: string, reason: string) => finding("Service", "error", `default/${name}`, reason);
const massLimit = (kind: ManagerReport["massLimits"][number]["kind"], held: readonly string[] = []) => ({
  kind,
  recent: 1,
  held,
  howToRelease: "kubectl",
});

const report: Pick<
  ManagerReport,
  | "leads"
  | "nodesUninitialized"
  | "nodesOutOfService"
  | "massLimits"
  | "findings"
  | "orphans"
  | "possibleOrphans"
  | "foreignNodes"
  | "sharedBalancers"
  | "accounts"
  | "inventory"
  | "changes"
  | "caches"
  | "awaitedCaches"
  | "pendingRestart"
  | "deprecations"
> = {
  leads: true,
  nodesUninitialized: 2,
  nodesOutOfService: 1,
  massLimits: [massLimit("nodes"), massLimit("load-balancers"), massLimit("routes", ["10.244.1.0/24"])],
  findings: [
    onHold("d", "MassDeletionHeld"),
    onHold("e", "MassDeletionHeld"),
    onHold("f", "DeletionPaused"),
    onHold("h", "OutOfServiceHeld"),
    onHold("i", "OutOfServiceHeld"),
    ofNode("a", "IncompleteInstance"),
    ofNode("b", "PodCIDRTaken"),
    ofNode("b", "PodCIDRTaken"),
    ofNode("c", "PodCIDRTaken"),
    ofNode("c", "RouteCreatedButNotListed"),
    ofService("web", "CertificateExpired"),
    ofService("web", "CertificateExpired"),
    ofService("web", "TargetLimit"),
    ofService("shop", "CertificateExpired"),
    ofService("shop", ""),
    finding("Service", "wait", "default/mail", "WaitingForCloud"),
    finding("Node", "notice", "g", "Paused"),
  ],
  orphans: [{ name: "x" }, { name: "y" }, { name: "z" }],
  possibleOrphans: [{ name: "v" }, { name: "w" }],
  foreignNodes: ["matched", "unmatched", "matched"],
  sharedBalancers: [{ name: "u" }],
  accounts: [],
  inventory: [
    { source: "machines", objects: 3, ageSeconds: 12.5, failure: undefined },
    { source: "robots", objects: undefined, ageSeconds: undefined, failure: undefined },
  ],
  changes: undefined,
  caches: {},
  awaitedCaches: ["nodes"],
  pendingRestart: ["--cluster-name"],
  deprecations: [],
};

const linesOf = (changes: Partial<ManagerReport> = {}): readonly string[] => {
  const metrics = new Metrics();
  addReportMetrics(metrics, () => ({ ...report, ...changes }) as ManagerReport);
  return metrics
    .text()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
};

const ofReplica = [
  'fairlead_inventory_age_seconds{source="machines"} 12.5',
  'fairlead_inventory_instances{source="machines"} 3',
  "fairlead_caches_awaited 1",
  "fairlead_configuration_restart_pending 1",
];

test("the leader counts Nodes, Services and load balancers that need attention [F106]", () => {
  expect(linesOf()).toEqual([
    "fairlead_nodes_uninitialized 2",
    'fairlead_node_deletions_held{reason="MassDeletionHeld"} 2',
    'fairlead_node_deletions_held{reason="DeletionPaused"} 1',
    'fairlead_nodes_out_of_service{state="tainted"} 1',
    'fairlead_nodes_out_of_service{state="held"} 2',
    'fairlead_nodes_out_of_service{state="observed"} 0',
    'fairlead_removals_held{kind="nodes"} 0',
    'fairlead_removals_held{kind="load-balancers"} 0',
    'fairlead_removals_held{kind="routes"} 1',
    'fairlead_removals_recent{kind="nodes"} 1',
    'fairlead_removals_recent{kind="load-balancers"} 1',
    'fairlead_removals_recent{kind="routes"} 1',
    "fairlead_services_with_problems 2",
    'fairlead_foreign_nodes{state="matched"} 2',
    'fairlead_foreign_nodes{state="unmatched"} 1',
    'fairlead_problems{object="Node",reason="IncompleteInstance"} 1',
    'fairlead_problems{object="Node",reason="PodCIDRTaken"} 2',
    'fairlead_problems{object="Node",reason="RouteCreatedButNotListed"} 1',
    'fairlead_problems{object="Service",reason="CertificateExpired"} 2',
    'fairlead_problems{object="Service",reason="TargetLimit"} 1',
    "fairlead_load_balancers_orphaned 3",
    "fairlead_load_balancers_possibly_orphaned 2",
    "fairlead_load_balancers_shared 1",
    ...ofReplica,
  ]);
});

test("a replica that does not lead reports no counts, because its state is stale", () => {
  expect(linesOf({ leads: false })).toEqual(ofReplica);
});

test("reads the age of each watch and the state of the change stream on each scrape", () => {
  const cache = (heardSecondsAgo: number) => ({
    isSynced: true,
    objects: 1,
    problem: undefined,
    heardSecondsAgo,
  });
  const changes = { openForSeconds: undefined, heardSecondsAgo: 3, failure: "closed" };
  const lines = linesOf({ caches: { nodes: cache(7), services: cache(400) }, changes });
  expect(lines).toContain('fairlead_watch_age_seconds{resource="nodes"} 7');
  expect(lines).toContain('fairlead_watch_age_seconds{resource="services"} 400');
  expect(lines).toContain("fairlead_change_stream_open 0");
  expect(linesOf({ changes: { ...changes, openForSeconds: 4 } })).toContain("fairlead_change_stream_open 1");
});

test("exports no gauges about objects before the manager exists", () => {
  const metrics = new Metrics();
  addReportMetrics(metrics, () => undefined);
  expect(metrics.text()).not.toMatch(/^fairlead/m);
});

test("counts deprecation announcements by API and kind, on every replica [N21]", () => {
  const type = { api: "cloud", what: "type", text: "" } as const;
  const warning = { api: "kubernetes", what: "warning", text: "" } as const;
  const lines = linesOf({ leads: false, deprecations: [type, warning, type] });
  expect(lines.filter((line) => line.startsWith("fairlead_deprecations"))).toEqual([
    'fairlead_deprecations{api="cloud",what="type"} 2',
    'fairlead_deprecations{api="kubernetes",what="warning"} 1',
  ]);
});

test("counts targets by health, on the leader of a cloud that reports it [F115]", () => {
  const ofTargets = (changes: Partial<ManagerReport>) =>
    linesOf(changes).filter((line) => line.startsWith("fairlead_load_balancer_targets"));
  const targetHealth = { healthy: 3, unhealthy: 1 };
  expect(ofTargets({ leads: true, targetHealth })).toEqual([
    'fairlead_load_balancer_targets{health="healthy"} 3',
    'fairlead_load_balancer_targets{health="unhealthy"} 1',
  ]);
  expect([ofTargets({ leads: false, targetHealth }), ofTargets({ leads: true })]).toEqual([[], []]);
});
