// Upstream's feature gates. All of them are accepted, so that argument lists of the Go managers work unchanged; gates without
// effect and unknown names give a warning.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";

/** Why a value has no effect. A value without a reason matches Fairlead's behavior. */
type Reasons = Readonly<Partial<Record<"on" | "off", string>>>;

const routes = "routes are reconciled when something changes; --route-reconciliation-period adds an interval";
const release = "the Lease is always released on exit";

const relevant: Readonly<Record<string, Reasons>> = {
  CloudControllerManagerWatchBasedRoutesReconciliation: { off: routes },
  CloudControllerManagerWebhook: { off: "--webhooks decides which webhooks are served" },
  ControllerManagerReleaseLeaderElectionLockOnExit: { off: release },
  CloudControllerManagerReleaseLeaderElectionLockOnExit: { off: release },
  CloudNodeAdditionalLabelsReconciliation: { off: "--reconcile-labels decides about labels" },
  ComponentFlagz: { off: "/flagz is always served on the secure port" },
  ComponentStatusz: { off: "/statusz is always served on the secure port" },
  LoggingBetaOptions: { off: "--logging-format=json is always available" },
  ContextualLogging: {},
};

const notRelevant = "Fairlead does not have this feature";
const notKnown = "no cloud-controller-manager of Kubernetes 1.35 to 1.38 has it";

/** Gates of Kubernetes 1.35 to 1.38 that concern logging, metrics and the API server library of upstream's manager. */
const irrelevant = new Set(
  `AllAlpha AllBeta APIResponseCompression APIServerIdentity APIServerTracing APIServerWebhookAuthenticationToken
  APIServingWithRoutine AggregatedDiscoveryRemoveBetaType AllocatorPoolBufferCap AllowParsingUserUIDFromCertAuth
  AllowUnsafeMalformedObjectDeletion AnonymousAuthConfigurableEndpoints AuthorizeWithSelectors BtreeWatchCache
  CBORServingAndStorage ConcurrentWatchObjectDecode ConditionalAuthorization
  ConsistentGetFromCache ConsistentListFromCache ConsistentListFromCacheSkipTimeoutFallback ConstrainedImpersonation
  CoordinatedLeaderElection DeclarativeValidation DeclarativeValidationBeta DeclarativeValidationTakeover
  DetectCacheInconsistency EtcdRangeStream ExcludeAdmissionWebhookVirtualResources KMSv1 ListFromCacheSnapshot
  LoggingAlphaOptions ManagedFieldsOptOut ManifestBasedAdmissionControlConfig MutatingAdmissionPolicy NativeHistograms
  OpenAPIEnums OpenAPIV2LazyBuild RemoteRequestHeaderUID RequestCostAggregation ResilientWatchCacheInitialization
  RetryGenerateName SeparateCacheWatchRPC ShardedListAndWatch SizeBasedListCostEstimate StorageVersionAPI
  StorageVersionHash StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StrictCostEnforcementForVAP
  StrictCostEnforcementForWebhooks StructuredAuthenticationConfiguration
  StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
  StructuredAuthorizationConfiguration TokenRequestServiceAccountUIDValidation UnauthenticatedHTTP2DOSMitigation
  UnknownVersionInteroperabilityProxy WatchCacheInitializationPostStartHook WatchFromStorageWithoutPrevKV
  WatchFromStorageWithoutResourceVersion WatchList WatchListCompression WebhookRoundTripLoadBalancing`.split(
    /\s+/,
  ),
);

const key = "--feature-gates";
const on = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const off = new Set(["0", "f", "F", "false", "FALSE", "False"]);

/** With `isStrict`, unknown names are errors, as in upstream. */
export function gateProblems(gates: ReadonlyMap<string, string>, isStrict: boolean): readonly Problem[] {
  return [...gates].flatMap(([name, value]): readonly Problem[] => {
    if (!on.has(value) && !off.has(value)) {
      const text = `${key}: ${name.slice(0, 80)} must be true or false, got ${JSON.stringify(value.slice(0, 80))}`;
      return [{ severity: "error", reason: "InvalidFlag", key, text }];
    }
    if (!Object.hasOwn(relevant, name) && !irrelevant.has(name)) {
      const meant = didYouMean(name, [...Object.keys(relevant), ...irrelevant]);
      const hint = `${isStrict ? "" : ", which has no effect"}; ${meant === undefined ? "" : `did you mean ${meant}? If not, `}`;
      const text = `${key} contains the unknown gate ${name.slice(0, 80)}${hint}omit it: ${notKnown}`;
      return [{ severity: isStrict ? "error" : "warning", reason: "UnknownFeatureGate", key, text }];
    }
    const reason = irrelevant.has(name) ? notRelevant : relevant[name]?.[on.has(value) ? "on" : "off"];
    if (reason === undefined) return [];
    const text = `${key}: ${name}=${value} has no effect: ${reason}`;
    return [{ severity: "warning", reason: "FlagWithoutEffect", key, text }];
  });
}
