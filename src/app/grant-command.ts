// The complete command that grants missing permissions to a manager: its name, the flags that
// determine permissions, and its user. Pure.

import { commandText } from "../core/text.ts";
import type { RawFlags } from "./flags/flag-problems.ts";

/** The options that determine a manager's permissions and Lease. */
const relevant = [
  "config",
  "controllers",
  "mode",
  "configure-cloud-routes",
  "enable-leader-migration",
  "leader-elect",
  "leader-elect-resource-name",
  "leader-elect-resource-namespace",
  "use-service-account-credentials",
] as const;

const quoted = (text: string): string =>
  /^[\w.,:/@+=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;

/** The permissions of a service account depend on object names, whose defaults are those of `rbac`. */
function subjectWords(user: string, given: RawFlags): readonly string[] {
  const [, namespace = "", name = ""] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  if (name === "") return [`user=${user}`];
  // Each controller has its own service account with a fixed name.
  if (given["use-service-account-credentials"] === "true") return [];
  return [
    ...(name === "fairlead" ? [] : [`name=${name}`]),
    ...(namespace === "kube-system" ? [] : [`namespace=${namespace}`]),
  ];
}

/** `given`: the flags of the command line. `user`: as the API server names it, if that is known. */
export function howToGrant(program: string, given: RawFlags, user: string | undefined): string {
  const flags = relevant.flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [`--${name}=${value}`];
  });
  const subject = user === undefined ? [] : subjectWords(user, given).map((word) => `--set ${quoted(word)}`);
  const words = [program, "rbac", ...flags.map(quoted), ...subject, "| kubectl apply -f -"];
  return `To grant it, without a restart: ${commandText(words.join(" "))}`;
}
