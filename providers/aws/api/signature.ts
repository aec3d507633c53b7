// Signature version 4: signs a request with an access key, for a region and a service. Pure.

import type { CloudRequest, Secret } from "#ccm";

/** An access key. Temporary ones have a session token. */
export interface AccessKey {
  readonly id: string;
  readonly secret: Secret;
  readonly sessionToken?: Secret | undefined;
}

export interface Scope {
  readonly region: string;
  /** The signing name of the service, for example `ec2`. */
  readonly service: string;
}

const algorithm = "AWS4-HMAC-SHA256";

function sha256(text: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

function hmac(key: string | Uint8Array, text: string): Uint8Array {
  return new Bun.CryptoHasher("sha256", key).update(text).digest();
}

/** For example `20261127T003000Z`. */
function timeOf(now: number): string {
  return new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
}

/** The query in the order and encoding that the signature requires. */
function canonicalQuery({ searchParams }: URL): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const pairs = [...searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.toSorted().join("&");
}

/** The request with the headers of its signature, which is valid for some minutes around `now`. */
export function signed(request: CloudRequest, key: AccessKey, scope: Scope, now: number): CloudRequest {
  const url = new URL(request.url);
  const time = timeOf(now);
  const token = key.sessionToken?.reveal();
  const added = { "x-amz-date": time, ...(token !== undefined && { "x-amz-security-token": token }) };
  const headers: Readonly<Record<string, string>> = { ...request.headers, ...added };
  const all = Object.entries({ ...headers, host: url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replaceAll(/ +/g, " ")] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const names = all.map(([name]) => name).join(";");
  const lines = all.map(([name, value]) => `${name}:${value}\n`).join("");
  const canonical = [request.method, url.pathname, canonicalQuery(url), lines, names];
  const text = [...canonical, sha256(request.body ?? "")].join("\n");
  const parts = [time.slice(0, 8), scope.region, scope.service, "aws4_request"];
  const derived = parts.reduce<string | Uint8Array>(hmac, `AWS4${key.secret.reveal()}`);
  const where = parts.join("/");
  const signature = new Bun.CryptoHasher("sha256", derived)
    .update([algorithm, time, where, sha256(text)].join("\n"))
    .digest("hex");
  const authorization = `${algorithm} Credential=${key.id}/${where}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...request, headers: { ...headers, authorization } };
}
