// The checks of connections: the API server and its version, permissions, the cloud, clocks, and ports of this machine. Pure.

import { countOf, shortList } from "../../core/text.ts";
import type { Permission } from "../permissions.ts";
import {
  type CloudFacts,
  type CloudFailure,
  error,
  type Finding,
  type KnownFacts,
  type PortFact,
  type ServerClock,
  type UnknownCluster,
  unchecked,
  warning,
} from "./doctor-facts.ts";

/** Older API servers lack APIs that Fairlead uses (docs/support.md). */
const oldestMinor = 21;

/** What to report if no API server answers. */
export function unreachableServer({ unread, otherServer }: UnknownCluster): readonly Finding[] {
  const effect = "No manager can start with this configuration, and nothing else of the cluster is checked.";
  if (otherServer === undefined)
    return error("ApiServerUnreachable", {
      ...{ problem: unread, effect },
      fix: "Correct --kubeconfig, --context or --master, or the address and certificates in the kubeconfig.",
    });
  return error("NotAnApiServer", {
    ...{ problem: `${otherServer} answers, but not as an API server of Kubernetes: ${unread}`, effect },
    fix: "Correct the address of the API server, including its path, in --master or the kubeconfig. If it is correct, a proxy answers: check HTTPS_PROXY and NO_PROXY.",
  });
}

export function checkServer({ cluster: { origin, gitVersion, minor } }: KnownFacts): readonly Finding[] {
  const host = new URL(origin).hostname;
  const findings: Finding[] = [];
  if (minor < oldestMinor)
    findings.push(
      ...error("KubernetesTooOld", {
        problem: `The API server has version ${gitVersion}; Fairlead needs Kubernetes 1.${oldestMinor} or later.`,
        effect: "Requests that this API server does not know fail.",
        fix: "Upgrade Kubernetes.",
      }),
    );
  if (isClusterName(host))
    findings.push(
      ...warning("ApiServerNeedsClusterDNS", {
        problem: `The address of the API server is ${host}, a name that only cluster DNS resolves.`,
        effect: `${dnsEffect} After an outage of all Nodes, neither starts.`,
        fix: "Use the address of the API server or of its load balancer in the kubeconfig or --master.",
      }),
    );
  return findings;
}

const dnsEffect =
  "Cluster DNS runs on Nodes that the manager initializes, so in a new cluster neither starts.";

/** Names that only the DNS of the cluster resolves. */
const isClusterName = (host: string): boolean => /\.svc(\.|$)|\.cluster\.local$/.test(host);

const maxSkew = 30_000;
/** Beyond it, clouds reject signed requests, and new tokens and certificates are not valid yet. */
const maxSignedSkew = 300_000;

function skewOf({ server, aheadMs }: ServerClock): readonly Finding[] {
  const skew = Math.abs(aheadMs);
  if (skew <= maxSkew) return [];
  return (skew > maxSignedSkew ? error : warning)("ClockSkew", {
    problem: `The clock of this machine is ${Math.round(skew / 1000)}s ${aheadMs > 0 ? "behind" : "ahead of"} that of ${server}.`,
    effect:
      "New tokens and certificates can look expired or not valid yet, and clouds reject signed requests with a wrong time. Leader election is not affected.",
    fix: "Synchronize the clocks of both machines, for example with chrony or systemd-timesyncd.",
  });
}

export function checkClocks(clocks: readonly (ServerClock | undefined)[]): readonly Finding[] {
  const known = clocks.filter((clock) => clock !== undefined);
  if (known.length > 0) return known.flatMap(skewOf);
  return unchecked("ClocksUnchecked", {
    problem: "No server has sent its time, so the clock of this machine was not compared.",
    effect: "With a wrong clock, valid certificates and tokens are rejected.",
    fix: "Correct the other findings, and run doctor again.",
  });
}

function ruleText({ verb, group, resource, namespace, name }: Permission): string {
  const what = `${verb} ${group === "" ? resource : `${resource}.${group}`}`;
  return `${what}${name === undefined ? "" : ` ${name}`}${namespace === undefined ? "" : ` in ${namespace}`}`;
}

export function checkPermissions({ cluster: { access }, program }: KnownFacts): readonly Finding[] {
  if ("unread" in access)
    return unchecked("PermissionsUnchecked", {
      problem: `The permissions of the manager could not be checked: ${access.unread}`,
      effect: "Missing permissions are found only when the manager runs.",
      fix: "Grant the verb create for selfsubjectaccessreviews, which every authenticated user has by default.",
    });
  const { subject, refused } = access.value;
  const required = refused.filter(({ isOptional }) => !isOptional);
  const optional = refused.filter(({ isOptional }) => isOptional);
  const lacks = (missing: readonly Permission[]) => ({
    problem: `${subject} lacks ${countOf(missing.length, "permission")}: ${shortList(missing.map(ruleText))}.`,
    fix: `Apply the output of "${program} rbac" with the flags of the manager.`,
  });
  const usersOf = (missing: readonly Permission[]): string =>
    [...new Set(missing.flatMap(({ users }) => users))].join(", ");
  return [
    ...(required.length === 0
      ? []
      : error("PermissionMissing", {
          ...lacks(required),
          effect: `Does not work without: ${usersOf(required)}.`,
        })),
    ...(optional.length === 0
      ? []
      : warning("OptionalPermissionMissing", {
          ...lacks(optional),
          effect: `The manager works with less and logs it. Used by: ${usersOf(optional)}.`,
        })),
  ];
}

type FailureText = Pick<Finding, "reason" | "effect" | "fix"> & Partial<Pick<Finding, "severity">>;

const cloudFailures: Partial<Record<CloudFailure["kind"], FailureText>> = {
  settings: {
    reason: "CloudSettingsInvalid",
    effect: "The manager ends with exit code 2. The cloud was not called.",
    fix: "Correct the setting, or run doctor where the manager has its settings and credentials.",
  },
  "settings not in the cloud": {
    reason: "CloudSettingsUnknown",
    effect: "What needs the setting does not work.",
    fix: "Correct the setting.",
  },
  "settings unchecked": {
    severity: "unchecked",
    reason: "CloudSettingsUnchecked",
    effect: "A typo in a setting that names something of the cloud is found only when it is used.",
    fix: "Grant the credentials the permission to read what the message names, and run doctor again.",
  },
  invalid: {
    reason: "CloudRefusesRequest",
    effect: "Nodes stay uninitialized, and load balancers and routes are not changed.",
    fix: "Correct the setting that the message names, or see docs/clouds for the settings of this cloud.",
  },
  unauthorized: {
    reason: "CloudCredentialsRejected",
    effect: "Nodes stay uninitialized, and load balancers and routes are not changed.",
    fix: "Set valid credentials of the cloud.",
  },
  forbidden: {
    reason: "CloudPermissionMissing",
    effect: "Nodes stay uninitialized.",
    fix: "Grant the credentials the permission to list machines.",
  },
  "rate-limited": {
    reason: "CloudRateLimited",
    effect: "Requests of the manager wait, too.",
    fix: "Find out which client of this account uses up the limit.",
  },
};

function unavailable(status: number | undefined): Pick<Finding, "reason" | "effect" | "fix"> {
  return {
    reason: "CloudUnavailable",
    effect: "Nodes stay uninitialized, and load balancers and routes are not changed.",
    fix:
      status === undefined || status < 500
        ? "Check the endpoint in the settings of the cloud, the network, the proxy and the firewall of this machine."
        : "Read the status page of the cloud. If the cloud works for others, check the endpoint in its settings, and the proxy.",
  };
}

const effectOfPart =
  "Nodes whose instances are in this source stay as they are. New Nodes of all sources stay uninitialized, because it may have an instance of the same name; --node-match-timeout limits this wait. Other sources have answered.";

export function checkCloud({ failures, origins }: CloudFacts): readonly Finding[] {
  const names = origins.map((origin) => new URL(origin).hostname).filter(isClusterName);
  const ofNames = names.flatMap((name) =>
    warning("CloudNeedsClusterDNS", {
      problem: `The endpoint of the cloud is ${name}, a name that only cluster DNS resolves.`,
      effect: dnsEffect,
      fix: "Use an address or a name of another DNS in the settings of the cloud.",
    }),
  );
  const ofFailures = failures.map(
    ({ kind, status, message, isPart }): Finding => ({
      severity: "error",
      problem: message,
      ...(cloudFailures[kind] ?? unavailable(status)),
      ...(isPart === true && { effect: effectOfPart }),
    }),
  );
  return [...ofNames, ...ofFailures];
}

export function checkPorts(ports: readonly PortFact[]): readonly Finding[] {
  return ports
    .filter(({ listener }) => listener === "other")
    .flatMap(({ flag, port }) =>
      warning("PortInUse", {
        problem: `Port ${port} of this machine (--${flag}) is in use by a program that is no cloud controller manager.`,
        effect: "A manager that starts on this machine ends with exit code 1.",
        fix: `Stop that program, or set --${flag} to a free port.`,
      }),
    );
}
