// Upstream's feature gates. All are accepted, so that argument lists of the Go managers work unchanged; gates without effect
// give a warning, and names that upstream does not have are errors.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";

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

export function gateProblems(gates: ReadonlyMap<string, string>): readonly Problem[] {
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
