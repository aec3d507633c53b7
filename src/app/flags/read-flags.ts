// Reads the flags from the command line, the configuration file and the compatibility profile, and reports every
// problem with its position.

import type { RawSection } from "../../config-file/parse-configuration.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Secret } from "../../core/secret.ts";
import { type ControllerName, chooseControllers } from "./controller-names.ts";
import { type ControllerSettings, controllerSettings } from "./controller-settings.ts";
import { electionProblems } from "./election-timing.ts";
import {
  flagWarnings,
  type RawFlags,
  removedFlags,
  tracingProblems,
  withoutEmptyStrings,
} from "./flag-problems.ts";
import { type Flags, flagFields, flagShapes, shapesOf, upstreamProfile } from "./flag-table.ts";
import { ownFields } from "./groups/fairlead.ts";
import { parseFlags } from "./pflag.ts";
import { type FlagsOfProvider, providerFlags, recordProblems } from "./provider-flags.ts";

export interface FlagSources {
  readonly provider?: FlagsOfProvider;
  /** Flags of the configuration file; the command line takes precedence. */
  readonly file?: { readonly path: string; readonly flags: RawSection } | undefined;
}

/** Settings of the cloud from all sources except the environment. */
export interface CloudSources {
  /** From flags: they take precedence over everything else. */
  readonly given: ReadonlyMap<string, string>;
  /** From files: the environment takes precedence. */
  readonly file?: Readonly<Record<string, string>>;
  /** The position of each setting in a file, as `path:line:column`. */
  readonly places?: ReadonlyMap<string, string>;
  /** What settings and sections are called in the cloud's own file, if that has other names. */
  readonly titles?: ReadonlyMap<string, string>;
  /** Names in lines of that file that could not be read. */
  readonly unread?: readonly string[];
  /** Content of the files that settings name, by path. */
  readonly inputFiles?: ReadonlyMap<string, Secret>;
}

export interface ReadFlags extends Omit<ControllerSettings, "problems"> {
  readonly flags: Flags;
  /** The flags of the command line, as text. */
  readonly given: RawFlags;
  /** Settings of the cloud that were set by flag. */
  readonly cloud: CloudSources;
  readonly controllers: ReadonlySet<ControllerName>;
  readonly positional: readonly string[];
  readonly problems: readonly Problem[];
}

export function readFlags(args: readonly string[], { provider = {}, file }: FlagSources = {}): ReadFlags {
  const own = providerFlags(provider);
  const fields = { ...own.fields, ...flagFields };
  const parsed = parseFlags(args, { ...shapesOf(own.fields), ...flagShapes }, removedFlags);
  const given = withoutEmptyStrings(fields, { ...file?.flags.raw, ...parsed.raw });
  const problems = [...parsed.problems, ...flagWarnings(fields, given)];
  const dashed = Object.fromEntries(
    // The profile only sets flags, and flags set explicitly take precedence.
    Object.entries({ ...defaultsFor(provider, given), ...given }).flatMap(([name, value]) =>
      Object.hasOwn(own.fields, name) && !Object.hasOwn(flagFields, name) ? [] : [[`--${name}`, value]],
    ),
  );
  const read = readSettings(flagFields, dashed, { prefix: "--", what: "flag" });
  problems.push(...read.problems);
  // Observe mode needs no Lease, because it runs next to the manager that holds it.
  const needsNoLease = read.values.mode === "observe" && given["leader-elect"] === undefined;
  const flags: Flags = needsNoLease ? { ...read.values, "leader-elect": false } : read.values;
  problems.push(...gateProblems(flags["feature-gates"] ?? new Map()));
  problems.push(...recordProblems(provider, flags["config-set"]));

  const { problems: ofSettings, ...settings } = controllerSettings(flags);
  problems.push(...ofSettings);
  problems.push(...electionProblems(flags), ...tracingProblems(flags));
  const { enabled: controllers, problems: ofControllers } = chooseControllers(flags.controllers);
  problems.push(...ofControllers);
  const cloud = {
    given: new Map([
      ...Object.entries(own.settingsOf(withoutEmptyStrings(fields, parsed.raw))),
      ...(flags["config-set"] ?? []),
    ]),
  };
  const placeOf = ({ key = "" }: Problem): string => {
    const name = key.slice(2);
    if (Object.hasOwn(parsed.raw, name)) return "";
    const place = file?.flags.places.get(name);
    if (place !== undefined) return `${file?.path}:${place.line}:${place.column}: `;
    return Object.hasOwn(provider.presets ?? {}, name) ? `Preset of the provider ${provider.name}: ` : "";
  };
  return {
    flags,
    given: parsed.raw,
    cloud,
    ...settings,
    controllers,
    positional: parsed.positional,
    problems: problems.map((problem) => ({ ...problem, text: `${placeOf(problem)}${problem.text}` })),
  };
}

/** The Go manager of a cloud changes only upstream's flags, so its defaults take precedence over the profile for these. */
function defaultsFor({ presets = {} }: FlagsOfProvider, { compatibility }: RawFlags): RawFlags {
  if (compatibility !== "upstream") return presets;
  const isOwn = ([name]: readonly [string, string]): boolean => Object.hasOwn(ownFields, name);
  const ofUpstream = Object.fromEntries(Object.entries(presets).filter((preset) => !isOwn(preset)));
  return { ...upstreamProfile, ...ofUpstream };
}

// Upstream's feature gates. All are accepted, so that argument lists of the Go managers work unchanged; gates without effect
// give a warning, and names that upstream does not have are errors.

/** Why a value has no effect. Values without a reason match Fairlead's behavior. */
type Reasons = Readonly<Partial<Record<"on" | "off", string>>>;

const routes = "routes are reconciled when something changes; --route-reconciliation-period adds an interval";
const release = "the Lease is always released on exit";

const relevant: Readonly<Record<string, Reasons>> = {
  CloudControllerManagerWatchBasedRoutesReconciliation: { off: routes },
  CloudControllerManagerWebhook: { off: "--webhooks decides which webhooks are served" },
  ControllerManagerReleaseLeaderElectionLockOnExit: { off: release },
  CloudControllerManagerReleaseLeaderElectionLockOnExit: { off: release },
  LoggingBetaOptions: { off: "--logging-format=json is always available" },
  ContextualLogging: {},
};

const notRelevant = "Fairlead does not have this feature";

/** Gates of logging, metrics and the API server library, which upstream's manager shares. */
const irrelevant = new Set(
  `AllAlpha AllBeta LoggingAlphaOptions NativeHistograms APIResponseCompression APIServerIdentity APIServerTracing
  APIServingWithRoutine AggregatedDiscoveryRemoveBetaType AllowParsingUserUIDFromCertAuth
  AllowUnsafeMalformedObjectDeletion AnonymousAuthConfigurableEndpoints AuthorizeWithSelectors BtreeWatchCache
  CBORServingAndStorage ConcurrentWatchObjectDecode ConsistentListFromCache ConstrainedImpersonation
  CoordinatedLeaderElection DeclarativeValidation DeclarativeValidationTakeover DetectCacheInconsistency KMSv1
  ListFromCacheSnapshot MutatingAdmissionPolicy OpenAPIEnums RemoteRequestHeaderUID ResilientWatchCacheInitialization
  SeparateCacheWatchRPC SizeBasedListCostEstimate StorageVersionAPI StorageVersionHash
  StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StrictCostEnforcementForVAP
  StrictCostEnforcementForWebhooks StructuredAuthenticationConfiguration
  StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
  StructuredAuthorizationConfiguration TokenRequestServiceAccountUIDValidation UnauthenticatedHTTP2DOSMitigation
  UnknownVersionInteroperabilityProxy WatchCacheInitializationPostStartHook WatchFromStorageWithoutResourceVersion
  WatchList`.split(/\s+/),
);

/** Gates that older managers had, now always on. */
const removed = new Set(["CloudDualStackNodeIPs", "StableLoadBalancerNodeSet"]);

const key = "--feature-gates";
const on = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const off = new Set(["0", "f", "F", "false", "FALSE", "False"]);

function gateProblems(gates: ReadonlyMap<string, string>): readonly Problem[] {
  return [...gates].flatMap(([name, value]): readonly Problem[] => {
    const isKnown = Object.hasOwn(relevant, name) || irrelevant.has(name);
    if (!isKnown) {
      const meant = didYouMean(name, [...Object.keys(relevant), ...irrelevant]);
      const hint = meant === undefined ? "omit it" : `did you mean ${meant}?`;
      const text = removed.has(name)
        ? `${key} contains ${name}, which Kubernetes removed because it is always on; omit it`
        : `${key} contains ${name.slice(0, 80)}, which upstream does not have; ${hint}`;
      return [{ severity: "error", reason: "UnknownFeatureGate", key, text }];
    }
    if (!on.has(value) && !off.has(value)) {
      const text = `${key}: ${name} must be true or false, got ${JSON.stringify(value.slice(0, 80))}`;
      return [{ severity: "error", reason: "InvalidFlag", key, text }];
    }
    const reason = irrelevant.has(name) ? notRelevant : relevant[name]?.[on.has(value) ? "on" : "off"];
    if (reason === undefined) return [];
    const text = `${key}: ${name}=${value} has no effect: ${reason}`;
    return [{ severity: "warning", reason: "FlagWithoutEffect", key, text }];
  });
}
