// The checks of connections: the API server and its version, permissions, the cloud, clocks, and ports of this machine. Pure.

import { howToGrant } from "../../app/grant-command.ts";
import { accessNeeds, leaseOf, type Permission, permissionsOf } from "../../app/permissions.ts";
import { announcedProblem } from "../../app/report/deprecations.ts";
import { type ServerClock, skewOf } from "../../app/report/server-times.ts";
import { roughDuration } from "../../core/duration.ts";
import { countOf, shortList } from "../../core/text.ts";
import { countsOf, leadershipOf } from "./check-cluster.ts";
import {
  type CheckFinding,
  type CloudFailure,
  type DoctorFacts,
  error,
  errorIf,
  type KnownFacts,
  type PortFact,
  type UnknownCluster,
  unchecked,
  uncheckedIf,
  warning,
  warningIf,
} from "./doctor-facts.ts";
import type { AccessFact } from "./gather-cluster.ts";

/** Older API servers lack APIs that Fairlead uses (docs/support.md). */
const oldestMinor = 21;
/** The newest version in docs/support.md. */
export const newestMinor = 38;

/** The finding if no API server answers. */
export function unreachableServer({ unread, otherServer }: UnknownCluster): readonly CheckFinding[] {
  const effect = "No manager can start with this configuration, and nothing else of the cluster is checked.";
  if (otherServer === undefined)
    return error("ApiServerUnreachable", {
      text: unread,
      effect,
      remedy:
        "Correct --kubeconfig, --context or --master, or the address and certificates in the kubeconfig.",
    });
  return error("NotAnApiServer", {
    text: `${otherServer} answers, but not as a Kubernetes API server: ${unread}`,
    effect,
    remedy:
      "Correct the address of the API server, including its path, in --master or the kubeconfig. If it is correct, a proxy answers: check HTTPS_PROXY and NO_PROXY.",
  });
}

export function checkServer({ cluster: { origin, gitVersion, minor } }: KnownFacts): readonly CheckFinding[] {
  const host = new URL(origin).hostname;
  return [
    ...errorIf(minor < oldestMinor, "KubernetesTooOld", {
      text: `The API server has version ${gitVersion}; Fairlead needs Kubernetes 1.${oldestMinor} or later.`,
      effect: "Requests that this API server does not know fail.",
      remedy: "Upgrade Kubernetes.",
    }),
    ...warningIf(minor > newestMinor, "KubernetesTooNew", {
      text: `The API server has version ${gitVersion}; this version of Fairlead knows Kubernetes up to 1.${newestMinor}.`,
      effect: "Fairlead uses only stable APIs, but what the newer version changes is not known.",
      remedy: "Upgrade Fairlead to a version that lists it in docs/support.md.",
    }),
    ...warningIf(isClusterName(host), "ApiServerNeedsClusterDNS", {
      text: `The address of the API server is ${host}, a name that only cluster DNS resolves.`,
      effect: `${dnsEffect} After an outage of all Nodes, neither starts.`,
      remedy: "Use the address of the API server or of its load balancer in the kubeconfig or --master.",
    }),
  ];
}

const dnsEffect =
  "Cluster DNS runs on Nodes that the manager initializes, so in a new cluster neither starts.";

/** Names that only the DNS of the cluster resolves. */
const isClusterName = (host: string): boolean => /\.svc(\.|$)|\.cluster\.local$/.test(host);

export function checkClocks(clocks: readonly (ServerClock | undefined)[]): readonly CheckFinding[] {
  const known = clocks.filter((clock) => clock !== undefined);
  const skews = known.flatMap((clock) => skewOf(clock) ?? []);
  if (known.length > 0)
    return skews.flatMap(({ isSevere, ...skew }) => (isSevere ? error : warning)("ClockSkew", skew));
  return unchecked("ClocksUnchecked", {
    text: "No server has sent its time, so the clock of this machine was not compared.",
    effect: "If the clock is wrong, valid certificates and tokens are rejected.",
    remedy: "Correct the other findings, and run doctor again.",
  });
}

function ruleText({ verb, group, resource, namespace, name }: Partial<Permission>): string {
  const what = `${verb} ${group === "" ? resource : `${resource}.${group}`}`;
  return `${what}${name === undefined ? "" : ` ${name}`}${namespace === undefined ? "" : ` in ${namespace}`}`;
}

/** Requests that events report as forbidden, unless the permission was granted since. */
function refusedRequests(facts: KnownFacts): readonly CheckFinding[] {
  const { cluster, program, given } = facts;
  const { refusals, lease, now } = cluster;
  if ("unread" in refusals) return [];
  const leads = leadershipOf(facts)?.kind !== "none";
  const leadsFor = now - Date.parse(("value" in lease && lease.value?.acquireTime) || "");
  // Ignores the event's text, because other clients may write events.
  const { found, isCut } = refusals.value;
  // The current leader repeats forbidden requests and their event. An older event comes from a former leader. Event times
  // have whole seconds.
  const ofLeader = found.filter(({ age }) => !(leads && age > leadsFor + 1000));
  const needed = permissionsOf(accessNeeds(facts), leaseOf(facts.flags));
  const granted = needed.map(({ verb, group, resource }) => ruleText({ verb, group, resource }));
  const reported = ofLeader.flatMap(({ object, user, what, age }) =>
    (leads ? error : warning)("KubernetesRefused", {
      text: `An event of ${object}, ${roughDuration(age / 1000)} old, reports that the API server refused a request of ${JSON.stringify(user)}: ${what}.`,
      effect: "If the manager runs as this user, what needs the permission does not work.",
      remedy: granted.includes(what)
        ? `Check that this is the user of the manager. ${howToGrant(program, given, user)}`
        : `Check which program runs as this user. A manager with these flags needs no permission to ${what}. If the manager has more flags, such as --controllers, pass the same flags to doctor.`,
    }),
  );
  const cut = uncheckedIf(isCut, "WarningsUnchecked", {
    text: "The cluster has too many Warning events, and only the first 20 pages were read.",
    effect: "Requests of the manager that the API server refused may be among the others.",
    remedy: "Read the manager's log, which names each missing permission.",
  });
  return [...reported, ...cut];
}

export function checkPermissions(facts: KnownFacts): readonly CheckFinding[] {
  return [...refusedRequests(facts), ...checkAccess(facts)];
}

export const subjectText = ({ subject = "The user of the kubeconfig" }: AccessFact): string => subject;

function checkAccess({ cluster: { access }, program, given }: KnownFacts): readonly CheckFinding[] {
  if ("unread" in access)
    return unchecked("PermissionsUnchecked", {
      text: `The manager's permissions could not be checked: ${access.unread}`,
      effect: "Missing permissions are found only when the manager runs.",
      remedy:
        "Grant the verb create for selfsubjectaccessreviews, which every authenticated user has by default.",
    });
  const { subject, isOfWorkload, isAdmin, refused } = access.value;
  if (isAdmin && !isOfWorkload && refused.length === 0)
    return unchecked("PermissionsUnchecked", {
      text: `These are the permissions of the kubeconfig (${subjectText(access.value)}, an administrator), and no DaemonSet or Deployment of this program names the account of the manager.`,
      effect: "A permission that the manager lacks is found only in its log and events.",
      remedy: "Run doctor with the --kubeconfig of the manager.",
    });
  const required = refused.filter(({ isOptional }) => !isOptional);
  const optional = refused.filter(({ isOptional }) => isOptional);
  const lacks = (missing: readonly Permission[]) => ({
    text: `${subjectText(access.value)} lacks ${countOf(missing.length, "permission")}: ${shortList(missing.map(ruleText))}.`,
    remedy: howToGrant(program, given, subject),
  });
  const usersOf = (missing: readonly Permission[]): string =>
    [...new Set(missing.flatMap(({ users }) => users))].join(", ");
  return [
    ...errorIf(required.length > 0, "PermissionMissing", {
      ...lacks(required),
      effect: `Does not work without: ${usersOf(required)}.`,
    }),
    ...warningIf(optional.length > 0, "OptionalPermissionMissing", {
      ...lacks(optional),
      effect: `The manager works with less and logs it. Used by: ${usersOf(optional)}.`,
    }),
  ];
}

type FailureText = Pick<CheckFinding, "effect" | "remedy"> & Partial<Pick<CheckFinding, "severity">>;

const whileFailing =
  "What exists keeps working. New Nodes keep their taint, new Services get no address, and changes wait.";

/** The finding by reason. For all other reasons, the status decides. */
const cloudFailures = (program: string): Readonly<Partial<Record<string, FailureText>>> => ({
  CloudSettingsInvalid: {
    effect: "The manager exits with code 2. The cloud was not called.",
    remedy: "Correct the setting, or run doctor where the manager has its settings and credentials.",
  },
  CloudSettingsUnknown: {
    effect: "What needs the setting does not work.",
    remedy: "Correct the setting.",
  },
  CloudSettingsUnchecked: {
    severity: "unchecked",
    effect: "A typo in a setting that names something of the cloud is found only when it is used.",
    remedy: "Grant the credentials the permission to read what the message names, and run doctor again.",
  },
  RefusedByCloud: {
    effect: whileFailing,
    remedy: `Correct the setting that the message names; ${pageOf(program)} describes the settings of this cloud.`,
  },
  CloudAuthFailed: { effect: whileFailing, remedy: "Set valid cloud credentials." },
  CloudPermissionMissing: {
    effect: whileFailing,
    remedy: "Grant the credentials the permission to list machines.",
  },
  CloudThrottled: {
    effect: `The manager's requests are throttled too. ${whileFailing}`,
    remedy:
      "Wait: the manager sends less, and continues when the cloud accepts requests again. If that takes longer than the period of the limit, the status page shows how many requests this manager has sent, and what the cloud says is left. If nothing is left and the manager sent few, find the other programs that use this account; otherwise ask the provider.",
  },
});

/** The documentation page for a cloud in this repository. */
function pageOf(program: string): string {
  const cloud = program.replace(/-cloud-controller-manager$/, "");
  return cloud === "fake" ? "docs/fake-cloud.md" : `docs/clouds/${cloud}.md`;
}

function unavailable({ status, isTls }: Pick<CloudFailure, "status" | "isTls">): FailureText {
  if (isTls === true)
    return {
      effect: whileFailing,
      remedy: "Correct the server's certificate, or the settings for it that the message names.",
    };
  return {
    effect: whileFailing,
    remedy:
      status === undefined || status < 500
        ? "Check the endpoint in the cloud settings, the network, the proxy and the firewall of this machine."
        : "Read the cloud's status page. If the cloud works for others, check the endpoint in its settings, and the proxy.",
  };
}

const effectOfPart = (source: string): string =>
  `Nodes whose instances are in source ${source} stay as they are. New Nodes of all sources stay uninitialized, because source ${source} may have a matching instance; --node-match-timeout limits this wait. Other sources have answered.`;

export function checkCloud({ cloud, program, cluster }: DoctorFacts): readonly CheckFinding[] {
  const { failures, origins, warnings = [] } = cloud;
  const counts = "value" in cluster ? countsOf(cluster.value) : "";
  const names = origins.map((origin) => new URL(origin).hostname).filter(isClusterName);
  const ofNames = names.flatMap((name) =>
    warning("CloudNeedsClusterDNS", {
      text: `The endpoint of the cloud is ${name}, a name that only cluster DNS resolves.`,
      effect: dnsEffect,
      remedy: "Use an address or a name of another DNS in the cloud settings.",
    }),
  );
  const ofFailures = failures.map(({ reason, message, source, ...failure }): CheckFinding => {
    const text = cloudFailures(program)[reason] ?? unavailable(failure);
    const whole = text.effect.endsWith(whileFailing) ? `${text.effect} ${counts}`.trim() : text.effect;
    const effect = source === undefined ? whole : effectOfPart(source);
    return { severity: "error", reason, text: message, ...text, effect };
  });
  const ofSettings = warnings.flatMap((message) =>
    warning("CloudSettingsQuestionable", {
      text: message,
      effect: "The manager starts, and logs this.",
      remedy: "Correct the setting, or ignore this if it is intended.",
    }),
  );
  return [...ofNames, ...ofFailures, ...ofSettings];
}

export function checkAnnounced({ announced }: DoctorFacts): readonly CheckFinding[] {
  const { reason, text, effect = "", remedy = "" } = announcedProblem(announced) ?? {};
  return reason === undefined || text === undefined ? [] : warning(reason, { text, effect, remedy });
}

/** `mayLead`: false if it is known that no manager leads, perhaps because of the port. */
export function checkPorts(ports: readonly PortFact[], mayLead: boolean): readonly CheckFinding[] {
  return ports
    .filter(({ listener }) => listener === "other")
    .flatMap(({ flag, port }) =>
      (mayLead ? warning : error)("PortInUse", {
        text: `Port ${port} of this machine (--${flag}) is in use by a program that is not a cloud controller manager.`,
        effect: "A manager that starts on this machine exits with code 1.",
        remedy: `Stop that program, or set --${flag} to a free port.`,
      }),
    );
}
