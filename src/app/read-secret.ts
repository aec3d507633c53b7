// Reads a Secret of the cluster for a provider by name, and never caches it.

import { Secret } from "../core/secret.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import { CloudError } from "../provider/errors.ts";
import type { SecretName } from "../provider/inputs.ts";
import type { Context } from "../provider/provider.ts";

const operation = "GET Secret";

/** Secret values are in base64. */
function valuesOf(secret: unknown): ReadonlyMap<string, Secret> {
  const { data } = Object(secret) as { readonly data?: Readonly<Record<string, string>> };
  return new Map(
    Object.entries(data ?? {}).map(([key, value]) => {
      const bytes = Buffer.from(value, "base64");
      return [key, new Secret(new TextDecoder().decode(bytes))];
    }),
  );
}

function failure({ namespace, name }: SecretName, error: unknown): unknown {
  if (!isKubeError(error)) return error;
  const what = `The Secret ${namespace}/${name} with credentials for the cloud cannot be read: ${error.message}`;
  return new CloudError(error.kind === "forbidden" ? "forbidden" : "unavailable", what, {
    operation,
    cause: error,
  });
}

/** `connect` is called for each Secret, because commands create an API client only when they need one. */
export function secretReader(connect: () => KubeApi | Promise<KubeApi>): Context["readSecret"] {
  return async ({ namespace, name }, { signal }) => {
    try {
      const api = await connect();
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
      return valuesOf(await api.request({ verb: "get", resource: "secrets", object: name, path }, signal));
    } catch (error) {
      if (isKubeError(error, "not-found")) return undefined;
      throw failure({ namespace, name }, error);
    }
  };
}
