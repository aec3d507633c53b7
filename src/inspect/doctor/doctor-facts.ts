// The facts of `doctor` about this machine, the cluster and the cloud, and the findings that checks derive from them.

import type { ControllerName } from "../../app/flags/controller-names.ts";
import type { RawFlags } from "../../app/flags/flag-problems.ts";
import type { Flags } from "../../app/flags/flag-table.ts";
import type { Deprecation } from "../../app/report/deprecations.ts";
import type { ServerClock } from "../../app/report/server-times.ts";
import type { Problem } from "../../core/problem.ts";
import type { ClusterFacts } from "./gather-cluster.ts";

/** `error`: something does not work. `warning`: something may fail. `unchecked`: the facts could not be read. */
export type FindingSeverity = "error" | "warning" | "unchecked";

export interface CheckFinding extends Pick<Problem, "reason" | "text"> {
  readonly severity: FindingSeverity;
  readonly effect: string;
  readonly remedy: string;
}

const finding =
  (severity: FindingSeverity) =>
  (reason: string, texts: Pick<CheckFinding, "text" | "effect" | "remedy">): readonly CheckFinding[] => [
    { severity, reason, ...texts },
  ];

export const error = finding("error");
export const warning = finding("warning");
export const unchecked = finding("unchecked");

const onlyIf =
  (report: typeof error) =>
  (isFound: boolean, ...found: Parameters<typeof error>): readonly CheckFinding[] =>
    isFound ? report(...found) : [];

export const errorIf = onlyIf(error);
export const warningIf = onlyIf(warning);
export const uncheckedIf = onlyIf(unchecked);

/** Why no facts about the cluster are available. */
export interface UnknownCluster {
  readonly unread: string;
  /** The origin, if a server answers that does not serve the Kubernetes API. */
  readonly otherServer: string | undefined;
}

export interface CloudFacts {
  /** The origins of all requests to the cloud, without paths. */
  readonly origins: readonly string[];
  readonly clock: ServerClock | undefined;
  /** Empty if each source of machines returned a page. */
  readonly failures: readonly CloudFailure[];
  /** Warnings about the settings. */
  readonly warnings?: readonly string[];
  /** Whether any source returned a machine. */
  readonly hasMachines: boolean;
}

export interface CloudFailure {
  /** The event reason, or a reason that only doctor uses. */
  readonly reason: string;
  /** The HTTP status, if there was a response. */
  readonly status?: number | undefined;
  /** Whether the connection failed because of TLS. */
  readonly isTls?: boolean;
  /** The source that did not answer, if others did. */
  readonly source?: string | undefined;
  readonly message: string;
}

export interface PortFact {
  readonly flag: string;
  readonly port: number;
  /** The listener on this machine: none, a program with a manager's health checks, or another program. */
  readonly listener: "none" | "manager" | "other";
}

export interface DoctorFacts {
  readonly program: string;
  readonly flags: Flags;
  /** The flags of the command line, as text. */
  readonly given: RawFlags;
  readonly controllers: ReadonlySet<ControllerName>;
  readonly cluster: { readonly value: ClusterFacts } | UnknownCluster;
  readonly cloud: CloudFacts;
  readonly ports: readonly PortFact[];
  /** Announcements of the API server and the cloud in answers to doctor. */
  readonly announced: readonly Deprecation[];
}

/** Facts that include those of a responding cluster. */
export interface KnownFacts extends Omit<DoctorFacts, "cluster"> {
  readonly cluster: ClusterFacts;
}
