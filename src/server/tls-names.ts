// Translates Go's names of cipher suites, curves and TLS versions into the runtime's names, and reports unsupported names. Pure.

import { defined } from "../core/defined.ts";
import type { Problem } from "../core/problem.ts";

const ciphers: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: "ECDHE-RSA-CHACHA20-POLY1305",
};
/** The suites of TLS 1.3 are always enabled; Go ignores them in the flag, too. */
const always = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
const curves: Readonly<Record<string, string>> = { 23: "P-256", 24: "P-384", 25: "P-521", 29: "X25519" };

export interface TlsNames {
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  readonly ciphers?: string;
  readonly curves?: string;
  readonly problems: readonly Problem[];
}

export interface TlsOptions {
  /** The prefix of the flags: "" or "webhook-". */
  readonly prefix: string;
  readonly minVersion: string;
  readonly ciphers: readonly string[];
  readonly curves: readonly string[];
}

function warning(key: string, text: string): Problem {
  return {
    severity: "warning",
    reason: "Unsupported",
    key,
    text: `${key} ${text}`,
  };
}

function joined(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : [...new Set(names)].join(":");
}

export function tlsNames({
  prefix,
  minVersion,
  ciphers: wantedCiphers,
  curves: wantedCurves,
}: TlsOptions): TlsNames {
  const problems: Problem[] = [];
  const chosen = <T>(names: readonly string[], flag: string, find: (name: string) => T | undefined) =>
    names.flatMap((name): readonly T[] => {
      const found = find(name.trim());
      if (found !== undefined) return [found];
      if (!always.includes(name.trim())) {
        problems.push(
          warning(`--${prefix}${flag}`, `contains ${name}, which is not supported and is ignored`),
        );
      }
      return [];
    });
  const suites = chosen(wantedCiphers, "tls-cipher-suites", (name) => ciphers[name]);
  const groups = chosen(wantedCurves, "tls-curve-preferences", (name) => curves[name]);
  const isOld = minVersion === "VersionTLS10" || minVersion === "VersionTLS11";
  if (isOld) {
    problems.push(
      warning(
        `--${prefix}tls-min-version`,
        `is ${minVersion}, which is not supported; the minimum in use is VersionTLS12`,
      ),
    );
  }
  return {
    minVersion: minVersion === "VersionTLS13" ? "TLSv1.3" : "TLSv1.2",
    problems,
    ...defined({ ciphers: joined(suites), curves: joined(groups) }),
  };
}

export interface NamedPair {
  readonly certFile: string;
  readonly keyFile: string;
  readonly names: readonly string[];
}

/** `cert,key` or `cert,key:name,name`; undefined for any other form. */
export function readNamedPair(text: string): NamedPair | undefined {
  const [files = "", names = ""] = text.split(/:(?!.*:)/);
  const [certFile = "", keyFile = "", ...others] = files.split(",").map((part) => part.trim());
  if (certFile === "" || keyFile === "" || others.length > 0) return undefined;
  return {
    certFile,
    keyFile,
    names: names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  };
}
