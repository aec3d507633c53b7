// Writes a kubeconfig with embedded credentials, as JSON, which is valid YAML.

import { defined } from "../../../core/defined.ts";
import type { JsonObject } from "../objects/json.ts";

export interface KubeconfigUser {
  readonly name: string;
  readonly server: string;
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

function credentialsOf({ token, cert, key }: KubeconfigUser): JsonObject {
  return defined({
    token,
    "client-certificate-data": cert && base64(cert),
    "client-key-data": key && base64(key),
  });
}

/** One context per user, named like the user. The first one is current. */
export function writeKubeconfig(ca: string, users: readonly KubeconfigUser[]): string {
  return `${JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      "current-context": users[0]?.name ?? "",
      clusters: users.map(({ name, server }) => ({
        name,
        cluster: { server, "certificate-authority-data": base64(ca) },
      })),
      users: users.map((user) => ({ name: user.name, user: credentialsOf(user) })),
      contexts: users.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    },
    null,
    2,
  )}\n`;
}
