// The public API for provider authors, imported as "#ccm". Everything else in src may change at any time.

export type { AnnouncedKind, Announcement } from "./core/announcements.ts";
export {
  type Brand,
  type Cidr,
  type IpAddress,
  type Milliseconds,
  milliseconds,
  minutes,
  type NodeName,
  type ProviderID,
  providerID,
  type ServiceUID,
  seconds,
} from "./core/brand.ts";
export * from "./core/cidr.ts";
export { didYouMean } from "./core/did-you-mean.ts";
export { type Diff, type DiffRules, diffByKey } from "./core/diff-by-key.ts";
export { formatDuration, parseDuration } from "./core/duration.ts";
export {
  address,
  type Bounds,
  type Built,
  cidrBlock,
  duration,
  type FieldOptions,
  flag,
  integer,
  oneOf,
  secret,
  text,
  textOrEmpty,
  url,
} from "./core/fields.ts";
export { inBatches } from "./core/in-batches.ts";
export * from "./core/ip.ts";
export type { IpForm } from "./core/ip-groups.ts";
export { isLabel } from "./core/labels.ts";
export { cidrList, entries, list, pairs, repeated } from "./core/list-fields.ts";
export { type NodeSelector, nodeSelector } from "./core/node-selector.ts";
export { applicable, type Place, type Problem, type Severity } from "./core/problem.ts";
export { type RecordOptions, records } from "./core/record-fields.ts";
export { Secret } from "./core/secret.ts";
export {
  currentValue,
  isSet,
  missingSetting,
  type OperatorDefaults,
  operatorDefaults,
  settingError,
  settingWarning,
  type WithFiles,
  withOperatorDefaults,
  withVariables,
} from "./core/setting-rules.ts";
export type {
  EntryVariables,
  Field,
  FieldContext,
  FieldKind,
  Fields,
  ParsedField,
  SettingKind,
  ValueFile,
  ValueOf,
  Values,
} from "./core/settings.ts";
export * from "./kit/announcements.ts";
export * from "./kit/changed-targets.ts";
export * from "./kit/deletions.ts";
export { type GcfgOptions, readGcfg } from "./kit/gcfg.ts";
export * from "./kit/job-operations.ts";
export * from "./kit/json-api.ts";
export { KeyedLock } from "./kit/keyed-lock.ts";
export * from "./kit/lookups.ts";
export * from "./kit/observed-values.ts";
export * from "./kit/outcomes.ts";
export * from "./kit/pages.ts";
export * from "./kit/rate-limit-headers.ts";
export { resolveOnce } from "./kit/resolve-once.ts";
export * from "./kit/shared-balancer.ts";
export * from "./kit/sign.ts";
export * from "./kit/soap.ts";
export * from "./kit/while-marked.ts";
export { many, readXml, Xml, type XmlReading, type XmlValue, xml } from "./kit/xml.ts";
export { dashed, readYamlFile, type YamlFileOptions } from "./kit/yaml-file.ts";
export type { TlsMaterial, Transport, TransportRequest } from "./platform/transport.ts";
export type * from "./provider/call.ts";
export type * from "./provider/changes.ts";
export { CloudError, type CloudErrorDetail, type CloudErrorKind, codeOf } from "./provider/errors.ts";
export type * from "./provider/inputs.ts";
export type * from "./provider/instances.ts";
export type * from "./provider/load-balancers.ts";
export type * from "./provider/machine-tags.ts";
export type * from "./provider/node-firewall.ts";
export type * from "./provider/plan.ts";
export * from "./provider/provider.ts";
export type * from "./provider/rate-limit.ts";
export {
  commonReasons,
  type DeclaredReasons,
  declareReasons,
  heldDeletionText,
  type OwnReason,
  type ProviderProblem,
  type Reason,
} from "./provider/reasons.ts";
export type * from "./provider/routes.ts";
export type * from "./provider/volumes.ts";
