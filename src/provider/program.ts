// The name of the executable that is built from a provider. Pure.

import type { ProviderDefinition } from "./provider.ts";

export function programOf({
  name,
  executable = name,
}: Pick<ProviderDefinition, "name" | "executable">): string {
  return `${executable}-cloud-controller-manager`;
}
