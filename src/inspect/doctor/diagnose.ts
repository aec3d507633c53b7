// Runs all checks of `doctor` on its facts, and renders the result as text. Pure.

import type { ExitCode } from "../../app/console.ts";
import { defined } from "../../core/defined.ts";
import { countOf, wrapText } from "../../core/text.ts";
import { checkClasses } from "./check-classes.ts";
import {
  checkControlPlane,
  checkLease,
  checkNodes,
  checkOtherLeases,
  checkServingCertificates,
  checkWorkloads,
  leadershipOf,
} from "./check-cluster.ts";
import {
  checkAnnounced,
  checkClocks,
  checkCloud,
  checkPermissions,
  checkPorts,
  checkServer,
  subjectText,
  unreachableServer,
} from "./check-connections.ts";
import { checkDrivers } from "./check-drivers.ts";
import type { CheckFinding, DoctorFacts, FindingSeverity, KnownFacts } from "./doctor-facts.ts";

type ClusterCheck = (facts: KnownFacts, local: readonly CheckFinding[]) => readonly CheckFinding[];

const ofCluster: readonly (readonly [name: string, check: ClusterCheck])[] = [
  ["API server", checkServer],
  ["permissions", checkPermissions],
  [
    "Lease",
    (facts, local) => [
      ...checkLease(facts, [...local, ...checkPermissions(facts), ...checkWorkloads(facts)]),
      ...checkOtherLeases(facts),
    ],
  ],
  ["Nodes and kubelets", checkNodes],
  ["load balancer classes", checkClasses],
  ["kube-controller-manager", checkControlPlane],
  ["serving certificates", checkServingCertificates],
  ["CSI drivers", checkDrivers],
  ["workload", checkWorkloads],
];

export interface CheckResult {
  readonly name: string;
  /** The highest severity of its findings. */
  readonly status: FindingSeverity | "ok";
  readonly findings: readonly CheckFinding[];
  /** The checked object, if it is not obvious. */
  readonly detail?: string;
}

export interface Diagnosis {
  readonly apiServer?: { readonly origin: string; readonly version: string };
  readonly checks: readonly CheckResult[];
}

const severities: readonly FindingSeverity[] = ["error", "warning", "unchecked"];

function resultOf(name: string, findings: readonly CheckFinding[]): CheckResult {
  const found = severities.find((severity) => findings.some((finding) => finding.severity === severity));
  return { name, status: found ?? "ok", findings };
}

export function diagnose(facts: DoctorFacts): Diagnosis {
  const { cluster, cloud, ports } = facts;
  const mayLead = "unread" in cluster || leadershipOf({ ...facts, cluster: cluster.value })?.kind !== "none";
  const local = [
    resultOf("cloud", checkCloud(facts)),
    resultOf("clocks", checkClocks(["value" in cluster ? cluster.value.clock : undefined, cloud.clock])),
    resultOf("ports", checkPorts(ports, mayLead)),
    resultOf("deprecations", checkAnnounced(facts)),
  ];
  if ("unread" in cluster) return { checks: [resultOf("API server", unreachableServer(cluster)), ...local] };
  const known = { ...facts, cluster: cluster.value };
  const foundHere = local.flatMap(({ findings }) => findings);
  const { origin, gitVersion: version } = cluster.value;
  return {
    apiServer: { origin, version },
    checks: [...ofCluster.map(([name, check]) => resultOf(name, check(known, foundHere))), ...local].map(
      (result) =>
        result.name === "permissions" ? { ...result, ...defined({ detail: subjectOf(known) }) } : result,
    ),
  };
}

/** Whose permissions were checked. */
function subjectOf({ cluster: { access } }: KnownFacts): string | undefined {
  if ("unread" in access) return undefined;
  const { isOfWorkload, isAdmin, refused } = access.value;
  const subject = subjectText(access.value);
  if (isOfWorkload) return `of ${subject}`;
  // The finding names the owner.
  if (isAdmin && refused.length === 0) return undefined;
  return `of ${subject}, the user of this kubeconfig. If the manager runs elsewhere as another user, pass its --kubeconfig.`;
}

/** 3: at least one error. 4: only warnings, or something could not be checked. */
export function diagnosisExitCode({ checks }: Diagnosis): ExitCode {
  if (checks.some(({ status }) => status === "error")) return 3;
  return checks.every(({ status }) => status === "ok") ? 0 : 4;
}

/** The errors that `doctor --wait` waits for, on one line; undefined without an error. */
export function errorsText({ checks }: Diagnosis): string | undefined {
  const errors = checks.flatMap(({ name, findings }) =>
    findings.flatMap(({ severity, reason }) => (severity === "error" ? [`${reason} (${name})`] : [])),
  );
  if (errors.length === 0) return undefined;
  return `${countOf(errors.length, "error")}: ${[...new Set(errors)].join(", ")}`;
}

const width = 100;
const indent = "    ";

function findingText({ severity, reason, text, effect, remedy }: CheckFinding): string {
  return [
    `  ${severity === "unchecked" ? "not checked" : severity}: ${reason}`,
    wrapText(text, width, indent),
    wrapText(effect, width, indent),
    wrapText(`Fix: ${remedy}`, width, indent),
  ].join("\n");
}

export function diagnosisText({ apiServer, checks }: Diagnosis): string {
  const findings = checks.flatMap((check) => check.findings);
  const count = (severity: FindingSeverity): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const unchecked = count("unchecked");
  return [
    ...(apiServer === undefined
      ? []
      : [`API server ${apiServer.origin}, Kubernetes ${apiServer.version}`, ""]),
    ...checks.flatMap(({ name, status, findings: found, detail }) => [
      status === "ok" ? `${name}: ok` : `${name}:`,
      ...(detail === undefined ? [] : [wrapText(detail, width, indent)]),
      ...found.map(findingText),
    ]),
    "",
    `Doctor: ${countOf(count("error"), "error")}, ${countOf(count("warning"), "warning")}${unchecked === 0 ? "" : `, ${unchecked} not checked`}.`,
    "",
  ].join("\n");
}
