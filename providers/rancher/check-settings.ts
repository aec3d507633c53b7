// Checks of the settings that involve several of them. Pure.

import { type ConfigProblem, quotedUrl, type Values } from "#ccm";
import type { config } from "./settings.ts";

export type Settings = Values<typeof config>;

const keys = [
  ["access-key", "access-key-file", "CATTLE_ACCESS_KEY"],
  ["secret-key", "secret-key-file", "CATTLE_SECRET_KEY"],
] as const;

export function checkSettings(settings: Settings): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const error = (key: string, text: string) =>
    problems.push({ severity: "error", reason: "InvalidSetting", key, text });
  const warn = (key: string, text: string) =>
    problems.push({ severity: "warning", reason: "InvalidSetting", key, text });

  const { url, "project-id": project } = settings;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    error("url", `CATTLE_URL must be a URL such as http://rancher:8080/v2-beta, got ${quotedUrl(url)}`);
  } else {
    const ofURL = /\/projects\/([^/]+)/.exec(new URL(url).pathname)?.[1];
    if (ofURL !== undefined && project !== undefined && ofURL !== project)
      error("project-id", `project-id is ${project}, but CATTLE_URL names ${ofURL}. Remove one of them`);
    if (/\/v3(\/|$)/.test(new URL(url).pathname))
      error(
        "url",
        "CATTLE_URL is the API of Rancher 2.x. Fairlead supports Rancher 1.6, whose API ends in /v2-beta",
      );
  }
  for (const [name, file, env] of keys) {
    const both = [settings[name], settings[file]].filter((value) => value !== undefined);
    if (both.length === 0) error(name, `${env} or ${file} is required: the API key of the environment`);
    if (both.length === 2) error(file, `${env} and ${file} are both set. Remove one of them`);
  }
  if (settings["insecure-skip-verify"])
    warn("insecure-skip-verify", "the certificate of the Rancher API is not verified. Set ca-file instead");
  if (settings.debug !== undefined)
    warn("debug", "RANCHER_CLIENT_DEBUG is ignored. Start with -v=6 to log requests");
  return problems;
}
