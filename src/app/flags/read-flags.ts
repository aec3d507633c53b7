// The command line as values: every problem at once, and the settings of the controllers made from the flags.

import type { RawSection } from "../../config/read-configuration.ts";
import { type LabelPolicy, type NodeSettings, nodeDefaults } from "../../controllers/node/settings.ts";
import type { LifecycleSettings } from "../../controllers/node-lifecycle/settings.ts";
import { lifecycleDefaults } from "../../controllers/node-lifecycle/settings.ts";
import { readClusterCIDRs } from "../../controllers/route/cluster-cidrs.ts";
import { exactly, type RouteSettings, routeDefaults } from "../../controllers/route/settings.ts";
import type { Cidr } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Values } from "../../core/settings.ts";
import { electionTimingProblem } from "../../kube/lease.ts";
import type { AddressKind } from "../../provider/instances.ts";
import type { CloudSources } from "../connect-cloud.ts";
import { writeMargin } from "../leadership/terms.ts";
import { type ControllerName, chooseControllers } from "./controller-names.ts";
import { gateProblems } from "./feature-gates.ts";
import { flagWarnings, withoutEmptyTexts } from "./flag-warnings.ts";
import { invalidFlag } from "./invalid-flag.ts";
import { parseFlags } from "./pflag.ts";
import { type FlagsOfProvider, providerFlags } from "./provider-flags.ts";
import { flagFields, flagShapes, shapesOf, upstreamProfile } from "./table.ts";

export type Flags = Values<typeof flagFields>;

export interface FlagSources {
  readonly provider?: FlagsOfProvider;
  /** What a configuration file says; the command line counts more. */
  readonly file?: { readonly path: string; readonly flags: RawSection };
}

export interface ReadFlags {
  readonly flags: Flags;
  /** What was set for the cloud. */
  readonly cloud: CloudSources;
  readonly nodes: NodeSettings;
  readonly lifecycle: LifecycleSettings;
  readonly routes: RouteSettings;
  readonly controllers: ReadonlySet<ControllerName>;
  readonly positional: readonly string[];
  readonly problems: readonly Problem[];
}

const families = ["IPv4", "IPv6"] as const;
const kinds = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"] as const;
const policies = ["sync", "report", "once"] as const;

export const readFlags = (args: readonly string[], { provider = {}, file }: FlagSources = {}): ReadFlags => {
  const own = providerFlags(provider);
  const fields = { ...own.fields, ...flagFields };
  const parsed = parseFlags(args, { ...shapesOf(own.fields), ...flagShapes });
  const given = withoutEmptyTexts(fields, { ...file?.flags.raw, ...parsed.raw });
  const problems = [...parsed.problems, ...flagWarnings(fields, given)];
  const dashed = Object.fromEntries(
    // The profile is nothing but flags, and a flag that was given counts more.
    Object.entries({ ...provider.presets, ...profileOf(given), ...given }).flatMap(([name, value]) =>
      Object.hasOwn(own.fields, name) && !Object.hasOwn(flagFields, name) ? [] : [[`--${name}`, value]],
    ),
  );
  const read = readSettings(flagFields, dashed, { prefix: "--", what: "flag" });
  problems.push(...read.problems);
  // Observing needs no Lease: it is meant to run beside the manager that holds it.
  const needsNoLease = read.values.mode === "observe" && given["leader-elect"] === undefined;
  const flags: Flags = needsNoLease ? { ...read.values, "leader-elect": false } : read.values;
  problems.push(...gateProblems(flags["feature-gates"] ?? new Map()));

  const only = <T extends string>(
    flag: string,
    given: readonly string[] | undefined,
    known: readonly T[],
  ): readonly T[] =>
    (given ?? []).flatMap((word) => {
      const match = known.find((one) => one.toLowerCase() === word.toLowerCase());
      if (match === undefined) problems.push(wrong(flag, `one of ${known.join(", ")}`, word));
      return match ?? [];
    });

  const labelPolicies: Record<string, LabelPolicy> = {};
  for (const [key, value] of flags["label-policy"] ?? []) {
    const [policy] = only("label-policy", [value], policies);
    if (policy !== undefined) labelPolicies[key] = policy;
  }
  const nodes: NodeSettings = {
    ...nodeDefaults,
    labelPolicies,
    betaLabelsWin: flags["beta-labels-win"],
    reconcileLabels: flags["reconcile-labels"],
    addresses: {
      families: only("node-address-families", flags["node-address-families"], families),
      include: (flags["node-address-include"] ?? []) as readonly Cidr[],
      exclude: (flags["node-address-exclude"] ?? []) as readonly Cidr[],
      networks: flags["node-address-networks"] ?? [],
      order: only<AddressKind>("node-address-order", flags["node-address-order"], kinds),
    },
  };
  const massLimit = readMassLimit(flags["node-deletion-limit"]);
  if (massLimit === undefined) {
    problems.push(wrong("node-deletion-limit", "a share such as 20%, or off", flags["node-deletion-limit"]));
  }
  const lifecycle: LifecycleSettings = {
    ...lifecycleDefaults,
    deletion: flags["node-deletion"],
    shutdownTaintGoes: flags["shutdown-taint-goes"],
    proofs: flags["node-deletion-proofs"] === 1 ? 1 : 2,
    confirmAfter: flags["node-deletion-confirmation"],
    massLimit: massLimit ?? lifecycleDefaults.massLimit,
    minAgeWithoutID: flags["node-deletion-min-age"],
  };
  const period = flags["route-reconciliation-period"];
  const routes: RouteSettings = {
    ...routeDefaults,
    fullCheck: period === undefined ? routeDefaults.fullCheck : exactly(period),
  };
  if (flags["cluster-cidr"] !== undefined) {
    const ranges = readClusterCIDRs(flags["cluster-cidr"]);
    if (ranges.kind === "skip")
      problems.push({ ...ranges.problem, severity: "error", key: "--cluster-cidr" });
  }
  const timing = electionProblem(flags);
  if (timing !== undefined) problems.push(timing);
  const { enabled: controllers, problems: unknown } = chooseControllers(flags.controllers);
  problems.push(...unknown);
  const cloud = {
    given: new Map([
      ...Object.entries(own.settingsOf(withoutEmptyTexts(fields, parsed.raw))),
      ...(flags["config-set"] ?? []),
    ]),
  };
  const whereIs = ({ key = "" }: Problem): string => {
    const name = key.slice(2);
    const place = Object.hasOwn(parsed.raw, name) ? undefined : file?.flags.places.get(name);
    return place === undefined ? "" : `${file?.path}:${place.line}:${place.column}: `;
  };
  return {
    flags,
    cloud,
    nodes,
    lifecycle,
    routes,
    controllers,
    positional: parsed.positional,
    problems: problems.map((problem) => ({ ...problem, text: `${whereIs(problem)}${problem.text}` })),
  };
};

const profileOf = ({ compatibility }: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  compatibility === "upstream" ? upstreamProfile : {};

const electionProblem = (flags: Flags): Problem | undefined => {
  if (!flags["leader-elect"]) return undefined;
  const duration = flags["leader-elect-lease-duration"];
  const text =
    electionTimingProblem(
      duration,
      flags["leader-elect-renew-deadline"],
      flags["leader-elect-retry-period"],
    ) ??
    (duration <= writeMargin
      ? `The lease duration must be longer than ${writeMargin / 1000} s: writes stop that long before a lease could end.`
      : undefined);
  const key = "--leader-elect-lease-duration";
  return text === undefined
    ? undefined
    : { severity: "error", reason: "InvalidFlag", key, text: `${key}: ${text}` };
};

const readMassLimit = (text: string): LifecycleSettings["massLimit"] | undefined => {
  if (text === "off") return "off";
  const share = /^(\d{1,3})%$/.exec(text)?.[1];
  if (share === undefined || Number(share) > 100 || lifecycleDefaults.massLimit === "off") return undefined;
  return { ...lifecycleDefaults.massLimit, share: Number(share) / 100 };
};

const wrong = (flag: string, expected: string, got: string): Problem =>
  invalidFlag(flag, `must be ${expected}, got ${JSON.stringify(got)}`);
