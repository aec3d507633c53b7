// Upstream's feature gates: all are known, so that argument lists work as they are; each says what it comes to here. A
// name that upstream does not have is refused.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";

/** What is said when a gate is set so. A value without a word is simply the case. */
type Said = Readonly<Partial<Record<"on" | "off", string>>>;

const routes = "routes are looked at when something changes; --route-reconciliation-period makes it regular";
const release = "the Lease is always released on exit";

const ours: Readonly<Record<string, Said>> = {
  CloudControllerManagerWatchBasedRoutesReconciliation: { off: routes },
  CloudControllerManagerWebhook: { off: "webhooks are served when --webhooks names them" },
  ControllerManagerReleaseLeaderElectionLockOnExit: { off: release },
  CloudControllerManagerReleaseLeaderElectionLockOnExit: { off: release },
  LoggingBetaOptions: { off: "--logging-format=json is always there" },
  ContextualLogging: {},
};

const nothing = "it is about something that this manager does not have";

/** Of logging, metrics and of the API server's library, which upstream's manager shares. */
const withoutMeaning = new Set(
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

/** Gates that older managers had; what they switched is always so since. */
const former = new Set(["CloudDualStackNodeIPs", "StableLoadBalancerNodeSet"]);

const key = "--feature-gates";
const on = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const off = new Set(["0", "f", "F", "false", "FALSE", "False"]);

export function gateProblems(gates: ReadonlyMap<string, string>): readonly Problem[] {
  return [...gates].flatMap(([name, value]): readonly Problem[] => {
    const isKnown = Object.hasOwn(ours, name) || withoutMeaning.has(name);
    if (!isKnown) {
      const meant = didYouMean(name, [...Object.keys(ours), ...withoutMeaning]);
      const hint = meant === undefined ? "leave it out" : `did you mean ${meant}?`;
      const text = former.has(name)
        ? `${key} names ${name}, which Kubernetes took out: it is always so; leave it out`
        : `${key} names ${name.slice(0, 80)}, which upstream does not have; ${hint}`;
      return [{ severity: "error", reason: "UnknownFeatureGate", key, text }];
    }
    if (!on.has(value) && !off.has(value)) {
      const text = `${key}: ${name} must be true or false, got ${JSON.stringify(value.slice(0, 80))}`;
      return [{ severity: "error", reason: "InvalidFlag", key, text }];
    }
    const said = withoutMeaning.has(name) ? nothing : ours[name]?.[on.has(value) ? "on" : "off"];
    if (said === undefined) return [];
    const text = `${key}: ${name}=${value} has no effect: ${said}`;
    return [{ severity: "warning", reason: "FlagWithoutEffect", key, text }];
  });
}
