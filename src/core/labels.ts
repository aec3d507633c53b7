// Kubernetes' rules for labels. Pure.

const namePattern = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const prefixPattern = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** The same check as in the API server, which would reject the whole write for one invalid label. */
export function isLabel(key: string, value: string): boolean {
  const slash = key.indexOf("/");
  const prefix = key.slice(0, Math.max(0, slash));
  const hasValidPrefix = slash === -1 || (prefix.length <= 253 && prefixPattern.test(prefix));
  return (
    hasValidPrefix && namePattern.test(key.slice(slash + 1)) && (value === "" || namePattern.test(value))
  );
}
