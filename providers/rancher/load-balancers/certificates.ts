// The certificates that annotations name. Pure.

import type { Problem } from "#ccm";
import type { ApiCertificate } from "../api/resources.ts";
import type { Desired } from "./model.ts";

export interface Certificates {
  readonly ids: readonly string[];
  readonly defaultID: string | undefined;
  readonly problems: readonly Problem[];
}

export const needsCertificates = ({ settings }: Desired): boolean =>
  settings["lb-certificates"] !== undefined || settings["lb-default-certificate"] !== undefined;

export function chooseCertificates({ settings }: Desired, known: readonly ApiCertificate[]): Certificates {
  const missing: string[] = [];
  const idOf = (name: string): readonly string[] => {
    const found = known.filter((one) => one.id === name || one.name === name);
    if (found.length !== 1) missing.push(name);
    return found.slice(0, 1).map(({ id }) => id);
  };
  const ids = (settings["lb-certificates"] ?? []).flatMap(idOf).toSorted();
  const [defaultID] = [settings["lb-default-certificate"] ?? []].flat().flatMap(idOf);
  const named = missing.map((name) => JSON.stringify(name)).join(", ");
  const what = missing.length === 1 ? `The certificate ${named} does` : `The certificates ${named} do`;
  const text = `${what} not exist in this environment, or several have the name. Nothing is changed. Upload what is missing, or use ids.`;
  const problems =
    missing.length === 0 ? [] : [{ severity: "error", reason: "MissingCloudObject", text } as const];
  return { ids, defaultID, problems };
}
